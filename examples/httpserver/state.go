package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weir-go/weir"
)

// load loads what the last server has saved. Without a file, or before the first one is saved, there
// is nothing to load.
func load(store *weir.MemStore, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return store.Load(file)
}

// save saves the limits for the next server. A file that is there is replaced as a whole, or stays
// as it is.
func save(store *weir.MemStore, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // unless it was renamed
	err = errors.Join(store.Save(file), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
