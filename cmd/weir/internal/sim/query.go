package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Query returns a text from which [Parse] reads s. Most fields that have the value of [Default] are
// left out. Letters, digits and the bytes -._~/,:()= stay as they are, and all others are escaped.
func (s *Scenario) Query() string {
	var b strings.Builder
	field := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + escape(value))
	}
	for _, l := range s.Lanes {
		text := fmt.Sprint(l.Policy)
		if l.Then != nil {
			text += fmt.Sprintf("~%s~%v", FormatDuration(l.At), l.Then)
		}
		field("p", text)
	}
	field("r", s.rates())
	if s.Poisson {
		field("x", "poisson")
	}
	var parts []string
	for _, burst := range s.Bursts {
		parts = append(parts, fmt.Sprintf("%s:%d", FormatDuration(burst.At), burst.N))
	}
	if parts != nil {
		field("b", strings.Join(parts, ","))
	}
	parts = nil
	for _, o := range s.Outages {
		parts = append(parts, FormatDuration(o.From)+"-"+FormatDuration(o.To))
	}
	if parts != nil {
		field("o", strings.Join(parts, ","))
	}
	if s.Clients != Once {
		field("c", s.Clients.String())
	}
	field("t", FormatDuration(s.Span))
	if s.Measure != time.Second {
		field("m", FormatDuration(s.Measure))
	}
	return b.String()
}

// rates writes runs of equal rates.
func (s *Scenario) rates() string {
	var runs []string
	for i := 0; i < len(s.Rates); {
		n := 1
		for i+n < len(s.Rates) && s.Rates[i+n] == s.Rates[i] {
			n++
		}
		run := formatRate(s.Rates[i])
		if n > 1 {
			run += "x" + strconv.Itoa(n)
		}
		runs = append(runs, run)
		i += n
	}
	return strings.Join(runs, ",")
}

func formatRate(thousandths int64) string {
	return strconv.FormatFloat(float64(thousandths)/1000, 'f', -1, 64)
}

// FormatDuration writes d without the units at its end that are zero: 1h, not 1h0m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
