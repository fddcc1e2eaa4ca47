// Package test holds the end-to-end tests: the real program, started as a process of its own, asked
// over loopback on each store. They know what a user knows, the command line and the HTTP API, and
// nothing of the inside.
//
// Real inputs with known answers are read in place from ../shared/data next to the repository;
// where they are absent their tests are skipped and say so.
package test
