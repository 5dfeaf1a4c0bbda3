package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	chartHeight = 5          // rows of text
	maxBands    = 4          // a chart is cut into so many bands before tenths share a column
	labelEvery  = 10         // columns
	marginRunes = 7          // of the scale on the left
	noWidth     = 80         // columns, if the output is not a terminal
	emptyRune   = ' '        // no line went
	outageRune  = '░'        // on the axis
	steps       = "▁▂▃▄▅▆▇█" // an eighth of a row to a whole row
)

// writeCharts writes a bar chart for each policy, at most width columns wide, all to the same
// scales. A column is a tenth of a second; in a long run it is the largest of several.
func (r *results) writeCharts(w io.Writer, width int) error {
	b := bufio.NewWriter(w)
	top, most := 0, 0
	for _, p := range r.policies {
		top, most = max(top, p.tenths.largest()), max(most, len(p.tenths))
	}
	k, band := bands(most, width)
	for _, p := range r.policies {
		fmt.Fprintf(b, "%s: %s in %s", p.policy, plural(p.sent, "line"), seconds(p.took))
		if k > 1 {
			fmt.Fprintf(b, "; each column is the largest tenth of %s", seconds(time.Duration(k)*tenth))
		}
		b.WriteByte('\n')
		columns := p.tenths.merged(k)
		for from := 0; from < len(columns); from += band {
			r.writeBand(b, columns[from:min(from+band, len(columns))], from, k, top)
		}
		if p.sent > 0 {
			fmt.Fprintln(b, r.reading(p))
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// bands cuts a chart of n tenths into bands of about the same width, none over width columns with
// its margin. It returns how many tenths share a column, and how many columns a band has.
func bands(n, width int) (k, band int) {
	widest := max(width-marginRunes, labelEvery)
	widest -= widest % labelEvery
	k = perColumn(n, maxBands*widest)
	columns := max(ceilDiv(n, k), 1)
	band = ceilDiv(columns, ceilDiv(columns, widest))
	return k, ceilDiv(band, labelEvery) * labelEvery
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// writeBand writes columns of k tenths each, the first of which is column from of the chart.
func (r *results) writeBand(b *bufio.Writer, columns []int, from, k, top int) {
	for row := chartHeight - 1; row >= 0; row-- {
		bars := make([]rune, len(columns))
		for i, n := range columns {
			bars[i] = bar(n, top, row)
		}
		scale := "│"
		if row == chartHeight-1 {
			scale = fmt.Sprintf("%d ┤", top)
		}
		fmt.Fprintf(b, "%*s%s\n", marginRunes, scale, strings.TrimRight(string(bars), " "))
	}
	axis, labels := r.axis(from, len(columns), k)
	fmt.Fprintf(b, "%*s%s\n%*s%s\n", marginRunes, "0 ┼", axis, marginRunes-1, "", labels)
}

// bar is the part of the bar for n lines that lies in a row of text, where a bar for top lines
// has chartHeight rows. It is never less than an eighth of a row, so that a single line is seen.
func bar(n, top, row int) rune {
	levels := []rune(steps)
	height := 0 // in eighths of a row
	if n > 0 {
		height = max(n*chartHeight*len(levels)/top, 1)
	}
	switch height -= row * len(levels); {
	case height <= 0:
		return emptyRune
	case height >= len(levels):
		return levels[len(levels)-1]
	default:
		return levels[height-1]
	}
}

// axis is the line under n columns of k tenths each, with the outages, and the times under it.
func (r *results) axis(from, n, k int) (axis, labels string) {
	line := make([]rune, n)
	var text strings.Builder
	for i := range line {
		at := time.Duration(from+i) * time.Duration(k) * tenth
		line[i] = '─'
		if (from+i)%labelEvery == 0 {
			line[i] = '┬'
			fmt.Fprintf(&text, "%*s %v", max(i-text.Len(), 0), "", at)
		}
		for _, o := range r.outages {
			if o <= at && at < o+outageLength {
				line[i] = outageRune
			}
		}
	}
	return string(line), text.String()
}
