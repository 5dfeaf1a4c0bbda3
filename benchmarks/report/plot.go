package main

import (
	"cmp"
	"image/color"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/weir-go/weir/benchmarks"
)

// panels are the parts of the plot, row by row.
var panels = [][]struct{ metric, title string }{
	{{"W1.ns", "W1: one hot key"}, {"W2.ns", "W2: one hot key, 16 goroutines per core"}},
	{{"W3.ns", "W3: one hot key, denied, 16 goroutines per core"}, {"W4.ns", "W4: a million keys"}},
	{{"W4p.ns", "W4p: a million keys, parallel"}, {"W5.ns", "W5: a million keys by Zipf's law, parallel"}},
}

var (
	weirColor = color.RGBA{0x0b, 0x72, 0x85, 0xff}
	peerColor = color.RGBA{0xb8, 0xc0, 0xc8, 0xff}
)

// plotNote shows the plot, if there is one.
func plotNote(r results) string {
	if !plottable(r) {
		return ""
	}
	return "\n![Nanoseconds per decision in W1 to W5](benchmarks.svg)\n"
}

// plottable tells whether there are figures for all panels.
func plottable(r results) bool {
	for _, row := range panels {
		for _, p := range row {
			if !has(r, p.metric) {
				return false
			}
		}
	}
	return true
}

// drawPlot writes the plot of the throughputs, if all were measured.
func drawPlot(file string, r results) error {
	if !plottable(r) {
		return nil
	}
	plot.DefaultFont.Variant = "Sans"
	bars := 0
	plots := make([][]*plot.Plot, len(panels))
	for i, row := range panels {
		for _, panel := range row {
			p, n, err := drawPanel(r, panel.metric, panel.title)
			if err != nil {
				return err
			}
			plots[i] = append(plots[i], p)
			bars = max(bars, n)
		}
	}

	width, height := 26*vg.Centimeter, vg.Length(len(panels))*vg.Length(bars+5)*12
	canvas := vgsvg.New(width, height)
	tiles := draw.Tiles{
		Rows: len(panels), Cols: len(panels[0]),
		PadX: 20, PadY: 16, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 8,
	}
	for i, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for j, c := range row {
			plots[i][j].Draw(c)
		}
	}

	var svg strings.Builder
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	// Few viewers have the font with which the text was measured. The letters of these fonts are as
	// wide.
	return os.WriteFile(file, []byte(strings.ReplaceAll(svg.String(),
		"font-family:Liberation Sans", "font-family:Helvetica,Arial,Liberation Sans,sans-serif")), 0o644)
}

// drawPanel is a bar for each contender, the fastest on top. It returns their number, too.
func drawPanel(r results, metric, title string) (*plot.Plot, int, error) {
	all := slices.DeleteFunc(r.contenders(metric), func(c benchmarks.Contender) bool { return c.Kind == benchmarks.Idle })
	slices.SortFunc(all, func(a, b benchmarks.Contender) int {
		return cmp.Compare(r.median(b.Name, metric), r.median(a.Name, metric))
	})
	var (
		names       []string
		own, others plotter.Values
		labels      plotter.XYLabels
	)
	for i, c := range all {
		v := r.median(c.Name, metric)
		names = append(names, c.Name)
		labels.XYs = append(labels.XYs, plotter.XY{X: v, Y: float64(i)})
		labels.Labels = append(labels.Labels, ns(v))
		if c.Weir() {
			own, others = append(own, v), append(others, 0)
		} else {
			own, others = append(own, 0), append(others, v)
		}
	}

	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = 11
	p.X.Min, p.X.Max = 0, 1.12*labels.XYs[0].X // room for the longest bar's label
	p.X.Label.Text = "ns per decision"
	p.X.Label.TextStyle.Font.Size = 8
	p.X.Tick.Label.Font.Size = 8
	p.Y.Tick.Label.Font.Size = 8
	for _, group := range []struct {
		values plotter.Values
		color  color.Color
	}{{own, weirColor}, {others, peerColor}} {
		b, err := plotter.NewBarChart(group.values, 8)
		if err != nil {
			return nil, 0, err
		}
		b.Horizontal, b.Color, b.LineStyle.Width = true, group.color, 0
		p.Add(b)
	}
	l, err := plotter.NewLabels(labels)
	if err != nil {
		return nil, 0, err
	}
	for i := range l.TextStyle {
		l.TextStyle[i] = text.Style{Font: font.From(plot.DefaultFont, 7), YAlign: text.YCenter, Handler: p.TextHandler, Color: color.Black}
	}
	l.Offset.X = 3
	p.Add(l)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -.6, float64(len(all))-.4
	return p, len(all), nil
}
