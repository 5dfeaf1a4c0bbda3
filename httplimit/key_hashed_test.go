package httplimit_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/httplimit"
)

var secret = []byte("0123456789abcdef")

func TestHashed(t *testing.T) {
	byKey := httplimit.Hashed(secret, httplimit.Header("X-Api-Key"))
	for _, plain := range []string{"a", "sk_live_0123456789", strings.Repeat("long", 100), "\xff\x01 "} {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(plain))
		want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
		for range 2 {
			got, err := byKey(request("X-Api-Key", plain))
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Len(t, got, 22)
		}
	}
	other := httplimit.Hashed([]byte("another 16 bytes"), is("a"))
	assert.NotEqual(t, keyOf(byKey, request("X-Api-Key", "a")), keyOf(other, nil))
}

// What the function returns that is no key stays what it is.
func TestHashed_WithoutKey(t *testing.T) {
	for _, want := range []error{httplimit.ErrSkip, httplimit.ErrNoKey, errors.New("broken")} {
		key, err := httplimit.Hashed(secret, fails(want))(nil)
		assert.ErrorIs(t, err, want)
		assert.Empty(t, key)
	}
	key, err := httplimit.Hashed(secret, is(""))(nil)
	assert.NoError(t, err)
	assert.Empty(t, key)
	both := httplimit.Or(httplimit.Hashed(secret, httplimit.Header("X-Api-Key")), httplimit.RemoteIP)
	assert.Equal(t, "\x001:192.0.2.1", keyOf(both, request()))
}

func TestHashed_ShortSecret(t *testing.T) {
	for _, n := range []int{0, 15} {
		key, err := httplimit.Hashed(secret[:n], is("a"))(request())
		assert.EqualError(t, err, fmt.Sprintf("weir: the secret of Hashed has %d bytes, must have 16 or more", n))
		assert.Empty(t, key)
	}
}

// The secret may be wiped afterwards, and requests may come at once.
func TestHashed_Concurrent(t *testing.T) {
	wiped := []byte(string(secret))
	h, same := httplimit.Hashed(wiped, httplimit.Header("X-Api-Key")), httplimit.Hashed(secret, httplimit.Header("X-Api-Key"))
	clear(wiped)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 200 {
				r := request("X-Api-Key", fmt.Sprint(g, i))
				assert.Equal(t, keyOf(same, r), keyOf(h, r))
			}
		})
	}
	all.Wait()
}

// Neither the store nor a log of refusals has the API key.
func ExampleHashed() {
	byKey := httplimit.Hashed([]byte("from your store of secrets"), httplimit.Header("X-API-Key"))
	r, _ := http.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-API-Key", "sk_live_4242")
	key, err := byKey(r)
	fmt.Println(key, err)
	// Output: 0n8mc5sBobcIQKyGwxcjrg <nil>
}
