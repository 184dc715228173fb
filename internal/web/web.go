// Package web holds the pages of Rowlock: what is on sale, a seat map that holds and orders, and the
// description of the API. They are plain files in the binary, HTML with JavaScript modules that are
// served as they are written, and they speak to the server only through its public API. Nothing in
// them is loaded from elsewhere, and the policy that goes with them lets a browser load nothing else.
//
// The package knows no seat rules: the pages show what the API answers.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed static
var files embed.FS

// policy lets a page load its own server's files and nothing else: no inline script or style, no
// plug-in, no frame around it, and no text that becomes markup.
const policy = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// tagCharacters of a file's hash are its ETag: 128 bits tell any two versions apart.
const tagCharacters = 32

// The pages that stand at URLs of their own.
const (
	pageHome     = "home.html"
	pageEvent    = "event.html"
	pageDocs     = "docs.html"
	pageNotFound = "notfound.html"
)

// problemName is what may follow /problems/: a code in lower case with hyphens.
var problemName = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// file is a page or an asset, ready to be sent.
type file struct {
	body []byte
	kind string // Content-Type
	tag  string // ETag
}

// pages answers with the files, which are read once and never change.
type pages struct {
	files map[string]*file
	mux   *http.ServeMux
}

// Handler serves the pages and their assets, and a page that says so for every URL it does not have.
// It reads no cookie and sets none, and is safe for concurrent use.
func Handler() http.Handler {
	p := &pages{files: load(), mux: http.NewServeMux()}
	p.mux.HandleFunc("/{$}", p.page(pageHome))
	p.mux.HandleFunc("/events/{event}", p.page(pageEvent))
	p.mux.HandleFunc("/docs", p.page(pageDocs))
	p.mux.HandleFunc("/problems/{code}", p.problem)
	p.mux.HandleFunc("/static/{name}", p.static)
	p.mux.HandleFunc("/", p.notFound)
	return p
}

// ServeHTTP sets what every answer carries and finds the page.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "This page can only be read.", http.StatusMethodNotAllowed)
		return
	}
	// The mux would answer a URL that is not in its shortest form with a redirect of its own making.
	if path.Clean(r.URL.Path) != r.URL.Path {
		p.notFound(w, r)
		return
	}
	p.mux.ServeHTTP(w, r)
}

func (p *pages) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { p.send(w, r, p.files[name]) }
}

// static serves assets. Pages are not among them: each has one URL, its own.
func (p *pages) static(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[r.PathValue("name")]
	if !ok || strings.HasPrefix(f.kind, "text/html") {
		p.notFound(w, r)
		return
	}
	p.send(w, r, f)
}

// problem leads from the type of a problem to its explanation.
func (p *pages) problem(w http.ResponseWriter, r *http.Request) {
	code := r.PathValue("code")
	if !problemName.MatchString(code) {
		p.notFound(w, r)
		return
	}
	http.Redirect(w, r, "/docs#problem-"+code, http.StatusFound)
}

// send answers with a file, or with 304 when the reader has it. Files have no dates in the binary,
// so browsers keep them and ask each time whether they are still right.
func (p *pages) send(w http.ResponseWriter, r *http.Request, f *file) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

func (p *pages) notFound(w http.ResponseWriter, r *http.Request) {
	f := p.files[pageNotFound]
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	if r.Method == http.MethodGet {
		w.Write(f.body) // a reader who has gone away needs no page
	}
}

// load reads the embedded files. It cannot fail: they are in the binary, or it would not have been built.
func load() map[string]*file {
	loaded := make(map[string]*file)
	err := fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		loaded[path.Base(name)] = &file{
			body: body,
			kind: contentType(name),
			tag:  `"` + hex.EncodeToString(sum[:])[:tagCharacters] + `"`,
		}
		return nil
	})
	if err != nil {
		panic("web: the embedded files cannot be read: " + err.Error())
	}
	return loaded
}

// contentType does not ask the machine's own tables, which differ from one to the next.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}
