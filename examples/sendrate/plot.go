package main

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	plotWidth   = 24 * vg.Centimeter
	rowHeight   = 4 * vg.Centimeter
	plotDPI     = 120 // of a PNG
	plotColumns = 600 // at most; then tenths share a column
)

var (
	barColor    = color.NRGBA{R: 0x1f, G: 0x6f, B: 0xb4, A: 0xff}
	evenColor   = color.NRGBA{R: 0xc0, G: 0x39, B: 0x2b, A: 0xff}
	outageColor = color.NRGBA{R: 0xe4, G: 0xe4, B: 0xe4, A: 0xff}
	faintColor  = color.NRGBA{R: 0x66, G: 0x66, B: 0x66, A: 0xff}
)

// plotTo draws into f, in place of what it held; not if f is nil.
func (r *results) plotTo(f *os.File) error {
	if f == nil {
		return nil
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	return r.writePlot(f, f.Name())
}

// writePlot draws the same as [results.writeCharts] as an image, with a row for each policy, in the
// format that the extension of name says: .svg or .png.
func (r *results) writePlot(w io.Writer, name string) error {
	rows, err := r.rows()
	if err != nil {
		return err
	}
	height := rowHeight * vg.Length(len(rows))
	canvas := func() vg.CanvasWriterTo {
		if filepath.Ext(name) == ".svg" {
			return vgsvg.New(plotWidth, height)
		}
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(plotWidth, height), vgimg.UseDPI(plotDPI))}
	}()
	dc := draw.New(canvas)
	const pad = 4 * vg.Millimeter
	tiles := draw.Tiles{
		Rows: len(rows), Cols: 1,
		PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadY: pad,
	}
	for i, c := range plot.Align(rows, tiles, dc) {
		rows[i][0].Draw(c[0])
	}
	_, err = canvas.WriteTo(w)
	return err
}

// rows is a plot for each policy. They have the same axes.
func (r *results) rows() ([][]*plot.Plot, error) {
	tenths, top := 1, 1
	for _, p := range r.policies {
		tenths, top = max(tenths, len(p.tenths)), max(top, p.tenths.largest())
	}
	k := perColumn(tenths, plotColumns)
	var rows [][]*plot.Plot
	for i, p := range r.policies {
		row := plot.New()
		row.X.Min, row.X.Max = 0, (time.Duration(tenths) * tenth).Seconds()
		row.Y.Min, row.Y.Max = 0, float64(top)*1.05
		style(row, fmt.Sprintf("%s: %s in %s; %s", p.policy, plural(p.sent, "line"), seconds(p.took), r.reading(p)))
		if err := r.shade(row, i == 0); err != nil {
			return nil, err
		}
		row.Add(bars(p.tenths.merged(k), k))
		if err := r.evenShare(row, i == 0); err != nil {
			return nil, err
		}
		row.Y.Label.Text = "lines in 0.1 s"
		if k > 1 {
			row.Y.Label.Text = fmt.Sprintf("most lines in 0.1 s,\neach %s", seconds(time.Duration(k)*tenth))
		}
		if i == len(r.policies)-1 {
			row.X.Label.Text = "seconds since the start"
		}
		rows = append(rows, []*plot.Plot{row})
	}
	return rows, nil
}

func style(p *plot.Plot, title string) {
	p.Title.Text = title
	p.Title.Padding = 1.5 * vg.Millimeter
	p.Title.TextStyle.XAlign = text.XCenter
	p.Title.TextStyle.Font.Size = 10
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = 8.5
		a.Tick.Label.Font.Size = 8.5
		a.Padding = 0
	}
	for _, s := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		s.Font.Variant = "Sans"
	}
	p.X.Tick.Marker = wholeSeconds{}
}

// bars are those of the columns, of k tenths each.
func bars(columns []int, k int) plot.Plotter {
	width := (time.Duration(k) * tenth).Seconds()
	h := &plotter.Histogram{Width: width, FillColor: barColor}
	h.LineStyle.Width = 0
	for i, n := range columns {
		if n > 0 {
			left := float64(i) * width
			h.Bins = append(h.Bins, plotter.HistogramBin{Min: left, Max: left + width, Weight: float64(n)})
		}
	}
	return h
}

// shade marks the outages.
func (r *results) shade(p *plot.Plot, labelled bool) error {
	for _, o := range r.outages {
		from, to := o.Seconds(), min((o+outageLength).Seconds(), p.X.Max)
		if from >= to {
			continue
		}
		area, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: 0}, {X: to, Y: 0}, {X: to, Y: p.Y.Max}, {X: from, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = outageColor, 0
		p.Add(area)
		if labelled {
			if err := label(p, "input pauses", (from+to)/2, p.Y.Max*0.86, faintColor, text.XCenter); err != nil {
				return err
			}
		}
	}
	return nil
}

// evenShare draws a line at the height of bars that share the lines evenly.
func (r *results) evenShare(p *plot.Plot, labelled bool) error {
	if r.even > p.Y.Max {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: r.even}, {X: p.X.Max, Y: r.even}})
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = evenColor, vg.Points(0.7), []vg.Length{vg.Points(3), vg.Points(2)}
	p.Add(line)
	if !labelled {
		return nil
	}
	return label(p, "even share: "+short(r.even), p.X.Max*0.995, r.even+p.Y.Max*0.04, evenColor, text.XRight)
}

// label puts a text at x, y.
func label(p *plot.Plot, s string, x, y float64, c color.Color, align text.XAlignment) error {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{s}})
	if err != nil {
		return err
	}
	l.TextStyle[0].Color = c
	l.TextStyle[0].Font.Variant = "Sans"
	l.TextStyle[0].Font.Size = 8
	l.TextStyle[0].XAlign = align
	p.Add(l)
	return nil
}

// wholeSeconds puts a tick at each second, or at every so many in a long run.
type wholeSeconds struct{}

func (wholeSeconds) Ticks(from, to float64) []plot.Tick {
	every := perColumn(int(to-from), 24)
	var ticks []plot.Tick
	for s := int(from); float64(s) <= to; s += every {
		ticks = append(ticks, plot.Tick{Value: float64(s), Label: fmt.Sprint(s)})
	}
	return ticks
}
