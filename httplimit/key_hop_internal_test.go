package httplimit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The short way to an address finds what parseHop finds, and misses nothing that is common.
func TestIPv4Host(t *testing.T) {
	numbers := []string{
		"0", "1", "9", "10", "19", "99", "100", "192", "199", "200", "249", "250", "255",
		"", "-1", "00", "01", "010", "256", "260", "300", "999", "0000", "1000", "1a", "a", "1 ", "/", ":",
	}
	const valid = 13 // of them
	ports := []string{":80", ":65535", ":_ab", ":8", "", ":", ":8a", ":-1", ".5", ".5:80", "80", "]:80", "%a:80"}
	for i, number := range numbers {
		for _, port := range ports {
			for _, address := range []string{
				number + ".2.33.255", "1." + number + ".33.255", "1.2." + number + ".255", "1.2.33." + number,
				number + "." + number + "." + number + "." + number,
			} {
				s := address + port
				host, ok := ipv4Host(s)
				if want, parsed := parseHop(s); ok {
					assert.True(t, parsed, s)
					assert.Equal(t, want.text, host, s)
				}
				common := i < valid && (port == ":80" || port == ":65535")
				assert.False(t, common && !ok, s)
			}
		}
	}
}
