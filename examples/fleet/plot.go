package main

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	plotWidth = 27 * vg.Centimeter
	rowHeight = 3.4 * vg.Centimeter
)

// Blue, orange and red that colour-blind readers tell apart, too.
var (
	grantedColor = color.NRGBA{R: 0x2b, G: 0x6c, B: 0xb0, A: 0xff}
	overColor    = color.NRGBA{R: 0xd5, G: 0x3e, B: 0x1f, A: 0xff}
	slowColor    = color.NRGBA{R: 0xdd, G: 0x8a, B: 0x00, A: 0xff}
	bandColor    = color.NRGBA{R: 0xf0, G: 0xf2, B: 0xf4, A: 0xff}
)

// draw draws the results into the file of -svg.
func (o options) draw(results []result, out io.Writer) (err error) {
	if o.svg == "" {
		return nil
	}
	f, err := os.Create(o.svg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := writePlot(f, results); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nthe picture is %s\n", o.svg)
	return err
}

// writePlot draws a row for each result: what was granted, the calls of the store, and how long
// decisions took.
func writePlot(w io.Writer, results []result) error {
	plot.DefaultFont.Variant = "Sans"
	top := 160.0 // percent
	for _, r := range results {
		top = max(top, 1.05*percent(r.most(), r.limit))
	}
	var rows [][]*plot.Plot
	for i, r := range results {
		row := []*plot.Plot{r.grantedPlot(top), r.callsPlot(), r.tookPlot()}
		for column, p := range row {
			r.style(p, column, i == 0, i == len(results)-1)
		}
		rows = append(rows, row)
	}
	canvas := vgsvg.New(plotWidth, rowHeight*vg.Length(len(rows))+vg.Centimeter)
	paper := draw.New(canvas)
	paper.SetColor(color.White) // for pages that are dark
	paper.Fill(paper.Rectangle.Path())
	const pad = 3 * vg.Millimeter
	tiles := draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]),
		PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: 2 * pad, PadY: pad,
	}
	for i, row := range plot.Align(rows, tiles, paper) {
		for j, c := range row {
			rows[i][j].Draw(c)
		}
	}
	var svg strings.Builder
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	// Few viewers have the font by which the text was measured. Letters of these are as wide.
	_, err := io.WriteString(w, strings.ReplaceAll(svg.String(),
		"font-family:Liberation Sans", "font-family:Helvetica,Arial,Liberation Sans,sans-serif"))
	return err
}

// grantedPlot has a bar for each window. The part above the limit is red.
func (r result) grantedPlot(top float64) *plot.Plot {
	p := plot.New()
	p.Y.Min, p.Y.Max = 0, top
	p.Y.Tick.Marker = ticks{0: "0", 50: "50", 100: "100 %", 150: "150", 200: "200", 300: "300"}
	r.bands(p)
	r.bars(p, grantedColor, func(w window) (from, to float64) { return 0, min(percent(w.granted, r.limit), 100) })
	r.bars(p, overColor, func(w window) (from, to float64) { return 100, max(percent(w.granted, r.limit), 100) })
	limit := plotter.NewFunction(func(float64) float64 { return 100 })
	limit.Width, limit.Color = vg.Points(.8), color.Black
	p.Add(limit)
	return p
}

// callsPlot has a bar for each window.
func (r result) callsPlot() *plot.Plot {
	p := plot.New()
	p.Y.Min, p.Y.Max = 0, 1.2
	p.Y.Tick.Marker = ticks{0: "0", .5: "0.5", 1: "1"}
	r.bands(p)
	r.bars(p, grantedColor, func(w window) (from, to float64) { return 0, min(w.callsPerDecision(), p.Y.Max) })
	return p
}

// tookPlot has a bar for each window, from the median to the 99th percentile.
func (r result) tookPlot() *plot.Plot {
	p := plot.New()
	p.Y.Min, p.Y.Max = math.Log10(100e-9), math.Log10(100e-3)
	p.Y.Tick.Marker = ticks{-7: "100 ns", -6: "1 µs", -5: "10 µs", -4: "100 µs", -3: "1 ms", -2: "10 ms", -1: ""}
	r.bands(p)
	log := func(d time.Duration) float64 { return min(max(math.Log10(d.Seconds()), p.Y.Min), p.Y.Max) }
	r.bars(p, slowColor, func(w window) (from, to float64) { return log(w.p50()), log(w.p99()) })
	r.bars(p, grantedColor, func(w window) (from, to float64) { return log(w.p50()) - .06, log(w.p50()) + .06 })
	return p
}

// bars draws a bar for each window.
func (r result) bars(p *plot.Plot, c color.Color, of func(window) (from, to float64)) {
	for i, w := range r.windows {
		if from, to := of(w); from < to {
			rectangle(p, c, float64(i)+.1, from, float64(i)+.9, to)
		}
	}
}

// bands marks the phases.
func (r result) bands(p *plot.Plot) {
	for i := range phases {
		if i%2 == 1 {
			rectangle(p, bandColor, float64(i*phaseWindows), p.Y.Min, float64((i+1)*phaseWindows), p.Y.Max)
		}
	}
}

func rectangle(p *plot.Plot, c color.Color, left, bottom, right, top float64) {
	area, err := plotter.NewPolygon(plotter.XYs{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
	if err != nil {
		panic(err) // a number that is none
	}
	area.Color, area.LineStyle.Width = c, 0
	p.Add(area)
}

// columns are what the plots show.
var columns = [...]string{"granted in each window, % of the limit", "store calls per decision", "time of a decision: median to p99"}

func (r result) style(p *plot.Plot, column int, first, last bool) {
	p.X.Min, p.X.Max = 0, allWindows
	p.BackgroundColor = nil // the paper is white
	p.Title.TextStyle.Font.Size = 9.5
	p.Title.Padding = vg.Millimeter
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 10, 8
		a.Padding = 0
		a.LineStyle.Width, a.Tick.LineStyle.Width = vg.Points(.5), vg.Points(.5)
	}
	p.X.Tick.Marker = ticks{phaseWindows: "", 2 * phaseWindows: ""}
	if first {
		p.Title.Text = columns[column]
	}
	if column == 0 {
		p.Y.Label.Text = r.name
	}
	if last {
		p.X.Tick.Marker = ticks{2: "even", 6: "one at a time", 10: "3 killed"}
	}
}

// ticks are the labels of an axis.
type ticks map[float64]string

// Ticks implements [plot.Ticker].
func (t ticks) Ticks(_, _ float64) (all []plot.Tick) {
	for _, v := range slices.Sorted(maps.Keys(t)) {
		all = append(all, plot.Tick{Value: v, Label: t[v]})
	}
	return all
}
