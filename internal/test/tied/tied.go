// Package tied starts the servers of tests. On Linux they die with the process that started them,
// however that ends. Only packages for tests and for benchmarks import it.
package tied
