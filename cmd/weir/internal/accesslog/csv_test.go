package accesslog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Blanks around a field of a CSV are no part of it, as around the name of a column.
func TestCSVBlanks(t *testing.T) {
	for _, head := range []string{"time, ip, note", `"time" , "ip","note"`, "time\tip\tnote", `time,ip,"no;te\t"`} {
		comma := ","
		if strings.Contains(head, "p\tn") {
			comma = "\t"
		}
		p, _, err := New("csv", [][]byte{[]byte(head)}, Options{})
		require.NoError(t, err)
		for _, line := range []string{`1791640536,2001:db8::1,a "b"`, ` 1791640536 , 2001:db8::1 , a "b" `, `"1791640536" , "2001:db8::1", "a ""b"""`} {
			_, err := p.Parse([]byte(strings.ReplaceAll(line, ",", comma)))
			require.NoError(t, err, "%s: %s", head, line)
			assert.Equal(t, "2001:db8::1", string(p.Field("ip")))
		}
		_, err = p.Parse([]byte(strings.ReplaceAll(`1791640536,x," b "`, ",", comma)))
		require.NoError(t, err)
		if !strings.Contains(head, ";") {
			assert.Equal(t, " b ", string(p.Field("note")))
		}
	}
}
