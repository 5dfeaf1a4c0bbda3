package kit

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// Upload sends a file to a handler by HTTP, and checks that none is left on the disk when the
// server has answered. The handler must read the form with a byte of memory, and then call there,
// which checks that the file is on the disk.
func Upload(t *testing.T, handler func(there func()) http.Handler) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	files := func(want int) {
		t.Helper()
		if left, err := os.ReadDir(folder); err != nil || len(left) != want {
			t.Errorf("files of the upload: %v, %v, must be %d", left, err, want)
		}
	}

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("f", "f")
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Write(make([]byte, 1<<20))
	if err = errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler(func() { files(1) }))
	resp, err := s.Client().Post(s.URL, form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	s.Close() // when the server has ended the request
	files(0)
}
