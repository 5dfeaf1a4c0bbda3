package lincheck

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weir-go/weir"
)

// An ask is a call of Take, or of Allow.
type ask struct {
	key   string
	n     int
	allow bool // of Allow: of the Result there is Allowed only

	// from and to are what the clock read before the call and after it. The store read it once in
	// between.
	from, to int64
}

// tick is what the clock moves by, so that few instants lie between two readings.
const tick = int64(20 * time.Millisecond)

// model is what the store must look like: for each key the words of the policy's state, which never
// expire, and a step is one decision.
func model(p weir.Policy) (porcupine.Model, error) {
	decider, err := p.Decider()
	if err != nil {
		return porcupine.Model{}, err
	}
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{pack(make([]uint64, decider.Words()))} },
		Step: func(state, input, output any) []any {
			in := input.(ask)
			var next []any
			for now := in.from; now <= in.to; now += tick {
				words, a := decider.Decide(unpack(state.(string)), now, weir.Ask{N: in.n})
				if in.allow {
					a.Result = weir.Result{Allowed: a.Allowed}
				}
				if a.Result == output.(weir.Result) {
					next = append(next, pack(words))
				}
			}
			return next
		},
		DescribeOperation: func(input, output any) string {
			in := input.(ask)
			return fmt.Sprintf("%d of %s at %v to %v: %+v", in.n, in.key, time.Duration(in.from), time.Duration(in.to), output)
		},
		DescribeState: func(state any) string { return fmt.Sprint(unpack(state.(string))) },
	}
	return m.ToModel(), nil
}

// byKey divides a history into one for each key. The model says that keys are independent: it has a
// state for each key, and no other.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	at := map[string]int{}
	var parts [][]porcupine.Operation
	for _, op := range history {
		key := op.Input.(ask).key
		i, ok := at[key]
		if !ok {
			i = len(parts)
			at[key] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

// pack makes words comparable, as the checker's states must be.
func pack(words []uint64) string {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

func unpack(s string) []uint64 {
	words := make([]uint64, len(s)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64([]byte(s[8*i:]))
	}
	return words
}
