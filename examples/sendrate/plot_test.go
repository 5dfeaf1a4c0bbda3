package main

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

func TestPlotPNG(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	require.NoError(t, r.writePlot(&b, "a.png"))
	img, err := png.Decode(&b)
	require.NoError(t, err)

	size := img.Bounds().Size()
	assert.InDelta(t, float64(plotWidth/vg.Inch)*plotDPI, size.X, 1)
	rows := len(r.policies)
	assert.InDelta(t, float64(rowHeight/vg.Inch)*plotDPI*float64(rows), size.Y, 1)

	// Each row has bars, and is shaded for a third of its axis: the outage is from 1 s to 2 s of 3 s.
	for row := range rows {
		bars, shadeFrom, shadeTo := 0, 0, 0
		for x := range size.X {
			shade := 0
			for y := row * size.Y / rows; y < (row+1)*size.Y/rows; y++ {
				switch color.NRGBAModel.Convert(img.At(x, y)) {
				case barColor:
					bars++
				case outageColor:
					shade++
				}
			}
			if shade > size.Y/rows/4 { // and not a grey pixel of a letter
				if shadeFrom == 0 {
					shadeFrom = x
				}
				shadeTo = x
			}
		}
		width := float64(size.X)
		assert.Greater(t, bars, 500, "row %d", row)
		assert.InDelta(t, 0.37, float64(shadeFrom)/width, 0.03, "row %d", row)
		assert.InDelta(t, 0.30, float64(shadeTo-shadeFrom)/width, 0.03, "row %d", row)
	}
}

func TestPlotSVG(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	require.NoError(t, r.writePlot(&b, "a.svg"))
	var texts strings.Builder
	d := xml.NewDecoder(&b)
	root := ""
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = token.Name.Local
			}
		case xml.CharData:
			texts.Write(token)
		}
	}
	assert.Equal(t, "svg", root)
	for _, want := range []string{
		"bursty: 219 lines in 2.9 s; largest tenth 109", "even: 199 lines", "half: 135 lines", "ended before: 100 lines",
		"input pauses", "even share: 10", "seconds since the start", "lines in 0.1 s",
	} {
		assert.Contains(t, texts.String(), want)
	}
}

// A plot can be drawn of a run without a line, of one of a single line, and of a week.
func TestPlotOfAnything(t *testing.T) {
	for name, tenths := range map[string]histogram{"none": nil, "one": {1}, "a week": make(histogram, 7*24*36_000)} {
		t.Run(name, func(t *testing.T) {
			r := &results{even: 100, policies: []result{{name, 0, 0, tenths}}}
			var b bytes.Buffer
			require.NoError(t, r.writePlot(&b, "a.svg"))
			assert.Less(t, b.Len(), 100_000)
			assert.Contains(t, b.String(), "</svg>")
		})
	}
}

// The drawing of -plot replaces the file, whichever of them is longer.
func TestPlotFile(t *testing.T) {
	for _, ext := range []string{".svg", ".png"} {
		name := filepath.Join(t.TempDir(), "a"+ext)
		require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte("old"), 1<<20), 0o644))
		synctest.Test(t, func(t *testing.T) {
			args := []string{"-policy", "all", "-rate", "10", "-lines", "30", "-outage", "1s", "-plot", name}
			require.Equal(t, exitSent, run(t.Context(), args, nil, io.Discard, io.Discard))
		})
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.NotContains(t, string(got), "oldold")
		if ext == ".png" {
			_, err = png.Decode(bytes.NewReader(got))
		} else {
			err = xml.Unmarshal(got, new(struct{}))
		}
		assert.NoError(t, err)
	}
}
