package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"slices"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

// Sizes of the picture, in its units.
const (
	svgWidth, svgLeft          = 860, 16
	svgTop, svgRow, svgBars    = 64, 96, 56
	svgText                    = 100 // characters of a line, for which there is room
	svgInk, svgGray, svgDenied = "#1f2937", "#9ca3af", "#dc2626"
)

// writeSVG draws the requests over time, and below it what each policy refuses of them, on the same
// scale.
func writeSVG(w io.Writer, r replayed) error {
	var b bytes.Buffer
	height := svgTop + svgRow*(1+len(r.Policies)) + 8
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", svgWidth, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	label := func(y int, bold bool, format string, args ...any) {
		weight := ""
		if bold {
			weight = ` font-weight="bold"`
		}
		text := []rune(fmt.Sprintf(format, args...))
		if len(text) > svgText { // a policy may be long
			text = append(text[:svgText-1], '…')
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s"%s>%s</text>`+"\n", svgLeft, y, svgInk, weight, html.EscapeString(string(text)))
	}
	label(26, true, "%s of %s", explain.Plural(r.Requests, "request", "requests"), explain.Plural(r.Clients, "client", "clients"))
	if r.Requests > 0 {
		label(46, false, "%s to %s UTC, a bar for %s", r.From.Format(time.DateTime), r.To.Format(time.DateTime), explain.Duration(r.Width))
		most := slices.Max(r.Over)
		row := func(i int, numbers []int, color string) {
			width := float64(svgWidth-2*svgLeft) / float64(len(r.Over))
			for at, n := range numbers {
				if n == 0 {
					continue
				}
				h := max(float64(n)/float64(most)*svgBars, 1)
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n",
					svgLeft+float64(at)*width, float64(svgTop+svgRow*(i+1))-h, max(width-1, 0.5), h, color)
			}
		}
		label(svgTop+24, false, "requests, at most %s a bar", explain.Count(most))
		row(0, r.Over, svgGray)
		for i, p := range r.Policies {
			label(svgTop+svgRow*(i+1)+24, false, "%s refused, %s hit (%s), by %s", explain.Plural(p.Refused, "request", "requests"),
				explain.Plural(p.Hit, "client", "clients"), percent(float64(p.Hit)/float64(r.Clients)), p.Policy)
			row(i+1, r.Over, "#e5e7eb")
			row(i+1, p.Over, svgDenied)
		}
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}
