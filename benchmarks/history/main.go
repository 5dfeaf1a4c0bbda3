// Command history shows the figures of weir release by release, beside the best peer of the same
// run. Each file NAME.txt here holds the measurements of a release, or of what is not released yet:
//
//	go run ./benchmarks/report -history benchmarks/history/unreleased.txt
//	go run ./benchmarks/history -write
//
// The second command writes docs/benchmarks-history.md from all files. A test checks that it is up
// to date. Without -write the page is printed. Run both from the root of the repository.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/weir-go/weir/benchmarks/record"
)

const (
	folder = "benchmarks/history"
	doc    = "docs/benchmarks-history.md"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("history: ")
	write := flag.Bool("write", false, "write the page to "+doc)
	flag.Parse()
	runs, err := record.Read(os.DirFS(folder))
	if err != nil {
		log.Fatal(err)
	}
	if !*write {
		fmt.Print(page(runs))
	} else if err := os.WriteFile(doc, []byte(page(runs)), 0o644); err != nil {
		log.Fatal(err)
	}
}
