package httplimit_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// newLogin returns the handler of POST /login. It limits failed logins:
//
//   - 5 an hour to a user, from an address or from a device of the user; a success clears them
//   - 20 an hour from an address, to all users
//   - 50 a day to a user
//
// The last two do not concern devices on which the user has logged in before.
func newLogin(checkPassword func(user, password string) bool, secret []byte) http.Handler {
	pairs := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Hour}))
	user := func(r *http.Request) (string, error) { return r.PostForm.Get("user"), nil }
	device := func(r *http.Request) (string, error) { return knownDevice(r, secret) }
	address := httplimit.ClientIP{IPv6Bits: 56}.RemoteIP() // many subscribers have a /56
	pair := httplimit.Join(user, httplimit.Or(device, address))
	stranger := func(key httplimit.KeyFunc) httplimit.KeyFunc {
		return func(r *http.Request) (string, error) {
			if _, err := device(r); err == nil {
				return "", httplimit.ErrSkip
			}
			return key(r)
		}
	}
	limit := httplimit.Middleware{
		Limits: []httplimit.Limit{
			{Name: "pair", Limiter: pairs, Key: pair, Settle: failedLogins},
			{
				Name: "address", Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 20, Per: time.Hour})),
				Key: stranger(address), Settle: failedLogins,
			},
			{
				Name: "user", Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 50, Per: 24 * time.Hour})),
				Key: stranger(user), Settle: failedLogins,
			},
		},
	}
	login := func(w http.ResponseWriter, r *http.Request) {
		user := r.PostForm.Get("user")
		if !checkPassword(user, r.PostForm.Get("password")) {
			http.Error(w, "wrong user or password", http.StatusUnauthorized)
			return
		}
		key, _ := pair(r)                 // as the limit has found it
		_ = pairs.Reset(r.Context(), key) // if it fails, they count for an hour
		http.SetCookie(w, deviceCookie(user, secret))
		fmt.Fprintln(w, "welcome")
	}
	limited := limit.Wrap(http.HandlerFunc(login))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10) // small, because refused requests are read, too
		if r.ParseForm() != nil || r.PostForm.Get("user") == "" {
			http.Error(w, "user and password, please", http.StatusBadRequest)
			return
		}
		limited.ServeHTTP(w, r)
	})
}

// failedLogins is a Settle that counts wrong passwords only.
func failedLogins(_ *http.Request, status int, _ int64) int {
	if status == http.StatusUnauthorized {
		return 1
	}
	return 0
}

// deviceCookie proves later that the user has logged in on this device. Each user of a browser has
// one.
func deviceCookie(user string, secret []byte) *http.Cookie {
	id := rand.Text()
	return &http.Cookie{
		Name: deviceCookieName(user, secret), Value: id + "." + deviceMAC(id, user, secret), MaxAge: 365 * 24 * 3600,
		Path: "/login", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// knownDevice returns the name of a device on which the user has logged in before.
func knownDevice(r *http.Request, secret []byte) (string, error) {
	user := r.PostForm.Get("user")
	cookie, err := r.Cookie(deviceCookieName(user, secret))
	if err != nil {
		return "", httplimit.ErrNoKey
	}
	id, mac, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(mac), []byte(deviceMAC(id, user, secret))) {
		return "", httplimit.ErrNoKey
	}
	return id, nil
}

func deviceCookieName(user string, secret []byte) string {
	return "device-" + deviceMAC("the name", user, secret)[:16]
}

func deviceMAC(id, user string, secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%q %s", id, user)
	return hex.EncodeToString(mac.Sum(nil))
}

// A visitor of the login.
type visitor struct {
	handler http.Handler
	address string
	device  []*http.Cookie // of users who have logged in
}

// login returns the status, and the cookie of a success.
func (v visitor) login(user, password string) (int, *http.Cookie) {
	form := url.Values{"user": {user}, "password": {password}}.Encode()
	r := httptest.NewRequest("POST", "/login", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = v.address + ":1234"
	for _, c := range v.device {
		r.AddCookie(c)
	}
	resp := serve(v.handler, r)
	for _, c := range resp.Cookies() {
		return resp.StatusCode, c
	}
	return resp.StatusCode, nil
}

// times logs in n times, and returns the status of the last.
func (v visitor) times(n int, user, password string) (status int) {
	for range n {
		status, _ = v.login(user, password)
	}
	return status
}

func newVisitors() func(address string) visitor {
	h := newLogin(func(user, password string) bool { return password == "secret of "+user }, []byte("a secret of the server"))
	return func(address string) visitor { return visitor{handler: h, address: address} }
}

func TestLoginRecipe_CountsFailuresOnly(t *testing.T) {
	at := newVisitors()
	home := at("192.0.2.1")
	assert.Equal(t, 200, home.times(60, "ada", "secret of ada"))
	for range 9 { // a success clears the failures of the user from this address
		assert.Equal(t, 401, home.times(2, "ada", "wrong"))
		assert.Equal(t, 200, home.times(1, "ada", "secret of ada"))
	}
	assert.Equal(t, 401, home.times(2, "ada", "wrong"))
	assert.Equal(t, 429, home.times(1, "ada", "wrong"), "20 from this address: those of the address are not cleared")
	assert.Equal(t, 200, at("192.0.2.2").times(1, "ada", "secret of ada"))
}

// A limit around the handler changes nothing.
func TestLoginRecipe_BehindAnotherLimit(t *testing.T) {
	home := newVisitors()("192.0.2.1")
	home.handler = httplimit.Middleware{Limiter: weir.Must(weir.New(roomy)), Key: httplimit.RemoteIP, InContext: true}.Wrap(home.handler)
	for range 3 {
		assert.Equal(t, 401, home.times(4, "ada", "wrong"))
		assert.Equal(t, 200, home.times(1, "ada", "secret of ada"))
	}
}

func TestLoginRecipe_LimitsByAddress(t *testing.T) {
	at := newVisitors()
	for i := range 20 {
		assert.Equal(t, 401, at("192.0.2.9").times(1, fmt.Sprint("user", i), "12345678"))
	}
	assert.Equal(t, 429, at("192.0.2.9").times(1, "user20", "secret of user20"), "the right password does not help")
	assert.Equal(t, 200, at("192.0.2.8").times(1, "user20", "secret of user20"))
}

// A stranger at one address locks the user out nowhere else. Strangers at many addresses can use up
// the guesses for new devices, but not the user's own devices.
func TestLoginRecipe_LocksNoVictimOut(t *testing.T) {
	at := newVisitors()
	_, cookie := at("192.0.2.1").login("ada", "secret of ada")
	assert.Equal(t, 429, at("203.0.113.1").times(6, "ada", "wrong"))
	assert.Equal(t, 200, at("192.0.2.2").times(1, "ada", "secret of ada"), "a new device elsewhere")
	for i := range 9 {
		assert.Equal(t, 401, at(fmt.Sprint("203.0.113.", i+2)).times(5, "ada", "wrong"))
	}
	assert.Equal(t, 429, at("203.0.113.99").times(1, "ada", "wrong"), "50 guesses in all")
	own := at("192.0.2.3")
	own.device = []*http.Cookie{cookie}
	assert.Equal(t, 200, own.times(1, "ada", "secret of ada"), "on a known device, at a new address")
	assert.Equal(t, 401, own.times(1, "bob", "wrong"), "where bob is not known")
	own.device = []*http.Cookie{{Name: cookie.Name, Value: "x.forged"}}
	assert.Equal(t, 429, own.times(1, "ada", "secret of ada"))
	assert.Equal(t, 200, at("203.0.113.1").times(1, "bob", "secret of bob"))
}

// A stranger may have a /56 of IPv6, and use each /64 of it for other guesses.
func TestLoginRecipe_AllAddressesOfASubscriber(t *testing.T) {
	at := newVisitors()
	for i := range 5 {
		assert.Equal(t, 401, at(fmt.Sprintf("[2001:db8:0:120%d::1]", i)).times(1, "ada", "wrong"))
	}
	assert.Equal(t, 429, at("[2001:db8:0:12ff::1]").times(1, "ada", "wrong"))
	assert.Equal(t, 401, at("[2001:db8:0:1300::1]").times(1, "ada", "wrong"), "another subscriber")
}

// An address is shared by strangers, such as in an office. They lock out nobody who has logged in
// before, on the device of which this is known.
func TestLoginRecipe_SharedAddress(t *testing.T) {
	office := newVisitors()("192.0.2.1")
	ada := office
	for _, user := range []string{"ada", "bob"} { // both use this browser
		_, cookie := ada.login(user, "secret of "+user)
		ada.device = append(ada.device, cookie)
	}
	assert.Equal(t, 429, office.times(6, "ada", "wrong"))
	for i := range 15 {
		assert.Equal(t, 401, office.times(1, fmt.Sprint("user", i), "wrong"))
	}
	assert.Equal(t, 429, office.times(1, "user99", "wrong"), "20 from this address")
	assert.Equal(t, 200, ada.times(1, "ada", "secret of ada"))
	assert.Equal(t, 200, ada.times(1, "bob", "secret of bob"))

	assert.Equal(t, 401, ada.times(5, "ada", "wrong"))
	assert.Equal(t, 429, ada.times(1, "ada", "secret of ada"), "a device has as many guesses as an address")
	assert.Equal(t, 200, ada.times(1, "bob", "secret of bob"))
}

// Guesses at the same time are no more than those one after the other: they count while the password
// is checked.
func TestLoginRecipe_GuessesAtOnce(t *testing.T) {
	guesses := 0
	var h http.Handler
	h = newLogin(func(string, string) bool {
		guesses++
		visitor{handler: h, address: "192.0.2.1"}.login("ada", fmt.Sprint(guesses)) // before this one is answered
		return false
	}, nil)
	visitor{handler: h, address: "192.0.2.1"}.login("ada", "0")
	assert.Equal(t, 5, guesses)
	assert.Equal(t, 400, visitor{handler: h, address: "192.0.2.1"}.times(1, "", ""))
}
