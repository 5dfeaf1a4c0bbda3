package play

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Text can be read on what is behind it, in light and dark: WCAG 2 asks for a contrast of 4.5.
func TestContrast(t *testing.T) {
	css, err := page.ReadFile("page/style.css")
	require.NoError(t, err)
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	require.True(t, ok)
	for _, scheme := range []string{light, dark} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(scheme, -1) {
			colors[m[1]] = m[2]
		}
		for behind, texts := range map[string][]string{
			"page":   {"ink", "soft", "granted", "held", "denied", "accent"},
			"panel":  {"ink", "soft", "granted", "held", "denied", "accent"},
			"mark":   {"denied"},
			"accent": {"accent-ink"},
		} {
			for _, text := range texts {
				a, b := luminance(t, colors[text]), luminance(t, colors[behind])
				contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05)
				assert.GreaterOrEqual(t, contrast, 4.5, "%s (%s) on %s (%s)", text, colors[text], behind, colors[behind])
			}
		}
	}
}

// luminance is the relative luminance of a color such as #1d2326.
func luminance(t *testing.T, color string) (l float64) {
	t.Helper()
	var rgb [3]uint8
	_, err := fmt.Sscanf(color, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
	require.NoError(t, err, color)
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}
