package httplimit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"net/http"
	"sync"
)

// leastSecret is the least number of bytes of a secret of Hashed.
const leastSecret = 16

// Hashed returns a KeyFunc whose key is a hash of the key that the given KeyFunc returns. The store
// and the Decisions then contain the hash, and not that key. Use it if the key is a secret, such as
// an API key, or if it must not be stored, such as an address:
//
//	httplimit.Hashed(secret, httplimit.Header("X-API-Key"))
//
// The hash has the first 128 bits of HMAC-SHA256, in 22 characters of base64. Choose a random
// secret: without it, nobody can find the key from the hash, not even by trying all addresses. The
// secret must have 16 bytes or more: otherwise the KeyFunc returns an error for every request.
// Processes that share a limit need the same secret. If the secret changes, the limiter no longer
// knows what each client has used. An empty key and errors of the given KeyFunc, including
// [ErrSkip], are returned as they are.
//
// The checks of the wiring look at the key before it is hashed: see Middleware.Warn. A warning may
// contain the address of a proxy, another private address, or an error of the given KeyFunc.
func Hashed(secret []byte, key KeyFunc) KeyFunc {
	if len(secret) < leastSecret {
		return failing(fmt.Errorf("weir: the secret of Hashed has %d bytes, must have %d or more", len(secret), leastSecret))
	}
	secret = bytes.Clone(secret)
	hashers := sync.Pool{New: func() any { return &hasher{Hash: hmac.New(sha256.New, secret)} }}
	return func(r *http.Request) (string, error) {
		plain, err := key(r)
		if err != nil || plain == "" {
			return "", err
		}
		h := hashers.Get().(*hasher)
		hashed := h.of(plain)
		hashers.Put(h)
		lookAtHidden(r, plain, hashed)
		return hashed, nil
	}
}

// A hasher is used again, so that a key costs one allocation.
type hasher struct {
	hash.Hash
	room [64]byte // for what is hashed, and for the hash
}

func (h *hasher) of(plain string) string {
	h.Reset()
	h.Write(append(h.room[:0], plain...))
	return base64.RawURLEncoding.EncodeToString(h.Sum(h.room[:0])[:16])
}
