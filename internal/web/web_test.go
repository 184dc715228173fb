package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestEveryPageHasItsURLAndType(t *testing.T) {
	for target, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":                               {200, "text/html; charset=utf-8"},
		"/events/evt_01":                  {200, "text/html; charset=utf-8"},
		"/docs":                           {200, "text/html; charset=utf-8"},
		"/static/style.css":               {200, "text/css; charset=utf-8"},
		"/static/event.js":                {200, "text/javascript; charset=utf-8"},
		"/static/icon.svg":                {200, "image/svg+xml"},
		"/problems/hold-expired":          {302, "text/html; charset=utf-8"},
		"/problems/HOLD_EXPIRED":          {404, "text/html; charset=utf-8"},
		"/problems/-":                     {404, "text/html; charset=utf-8"},
		"/static/event.html":              {404, "text/html; charset=utf-8"},
		"/static/missing.js":              {404, "text/html; charset=utf-8"},
		"/static/":                        {404, "text/html; charset=utf-8"},
		"/static/%2e%2e%2fweb.go":         {404, "text/html; charset=utf-8"},
		"/events/":                        {404, "text/html; charset=utf-8"},
		"/events/evt_01/more":             {404, "text/html; charset=utf-8"},
		"/docs/":                          {404, "text/html; charset=utf-8"},
		"/home.html":                      {404, "text/html; charset=utf-8"},
		"/a/../docs":                      {404, "text/html; charset=utf-8"},
		"/nothing":                        {404, "text/html; charset=utf-8"},
		"/%3Cscript%3Ealert(1)%3C/script": {404, "text/html; charset=utf-8"},
	} {
		res := get(t, http.MethodGet, target)
		if res.StatusCode != want.status || res.Header.Get("Content-Type") != want.kind {
			t.Errorf("%s: %d %q, want %d %q", target, res.StatusCode, res.Header.Get("Content-Type"), want.status, want.kind)
		}
	}
}

func TestEveryAnswerForbidsWhatIsNotOurs(t *testing.T) {
	for _, target := range []string{"/", "/events/evt_01", "/docs", "/static/event.js", "/problems/invalid", "/nothing"} {
		h := get(t, http.MethodGet, target).Header
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: policy %q lacks %q", target, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || strings.Contains(csp, "*") {
			t.Errorf("%s: policy %q lets others in", target, csp)
		}
		if got := h.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options %q", target, got)
		}
		if got := h.Values("Set-Cookie"); got != nil {
			t.Errorf("%s sets a cookie: %q", target, got)
		}
	}
}

func TestAnETagSavesTheBody(t *testing.T) {
	first := get(t, http.MethodGet, "/static/event.js")
	tag := first.Header.Get("ETag")
	if tag == "" || tag == get(t, http.MethodGet, "/static/style.css").Header.Get("ETag") {
		t.Fatalf("ETag %q does not tell files apart", tag)
	}
	if res := get(t, http.MethodGet, "/static/event.js", "If-None-Match", tag); res.StatusCode != http.StatusNotModified {
		t.Errorf("with the ETag: %d, want 304", res.StatusCode)
	}
	if res := get(t, http.MethodGet, "/static/event.js", "If-None-Match", `"another"`); res.StatusCode != http.StatusOK {
		t.Errorf("with another ETag: %d, want 200", res.StatusCode)
	}
}

func TestPagesAreOnlyRead(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		res := get(t, method, "/")
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
	if res := get(t, http.MethodHead, "/nothing"); res.StatusCode != http.StatusNotFound {
		t.Errorf("HEAD of an unknown page: %d", res.StatusCode)
	}
}

func TestAProblemLeadsToItsExplanation(t *testing.T) {
	res := get(t, http.MethodGet, "/problems/allocation-unavailable")
	if got := res.Header.Get("Location"); got != "/docs#problem-allocation-unavailable" {
		t.Errorf("Location %q", got)
	}
}

// The laws of the pages' source: nothing inline, nothing from elsewhere, and no text that becomes
// markup or program.
type law struct {
	name string
	ext  string
	bad  *regexp.Regexp
}

func laws() []law {
	return []law{
		{"text becomes markup or program", ".js", regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|createContextualFragment|setTimeout\(\s*["'` + "`" + `]`)},
		{"a style attribute", ".js", regexp.MustCompile(`setAttribute\(\s*["']style|cssText`)},
		{"another server", ".js", regexp.MustCompile(`https?://|["'` + "`" + `]//`)},
		{"a module from elsewhere", ".js", regexp.MustCompile(`from "[^.]|import\(|import "`)},
		{"an inline script", ".html", regexp.MustCompile(`<script[^>]*>[^<]`)},
		{"an inline style", ".html", regexp.MustCompile(`<style|\sstyle=`)},
		{"an inline handler", ".html", regexp.MustCompile(`\son[a-z]+=`)},
		{"another server", ".html", regexp.MustCompile(`https?://|(?:src|href)="//|javascript:`)},
		{"another server", ".css", regexp.MustCompile(`https?://|@import|url\(`)},
	}
}

// breaks names the laws that a source breaks.
func breaks(name, source string) (broken []string) {
	for _, l := range laws() {
		if l.ext == path.Ext(name) && l.bad.MatchString(source) {
			broken = append(broken, l.name)
		}
	}
	return broken
}

func TestPagesHaveNothingInlineAndNothingFromElsewhere(t *testing.T) {
	seen := 0
	err := fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		seen++
		for _, broken := range breaks(name, string(source)) {
			t.Errorf("%s: %s", name, broken)
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Fatalf("read %d files: %v", seen, err)
	}
}

func TestTheLawsOfPagesCanBeBroken(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"a.js", `box.innerHTML = name`, "text becomes markup or program"},
		{"a.js", `eval(text)`, "text becomes markup or program"},
		{"a.js", `setTimeout("go()", 1)`, "text becomes markup or program"},
		{"a.js", `n.setAttribute("style", s)`, "a style attribute"},
		{"a.js", `fetch("//example.com/x")`, "another server"},
		{"a.js", `import x from "leftpad"`, "a module from elsewhere"},
		{"a.html", `<script type="module">go()</script>`, "an inline script"},
		{"a.html", `<p style="color: red">`, "an inline style"},
		{"a.html", `<p onclick="go()">`, "an inline handler"},
		{"a.html", `<img src="https://example.com/x.png">`, "another server"},
		{"a.css", `@import "x.css";`, "another server"},
	} {
		found := false
		for _, broken := range breaks(c.name, c.source) {
			found = found || broken == c.want
		}
		if !found {
			t.Errorf("%s with %q passes, want %q", c.name, c.source, c.want)
		}
	}
}

// Every file that a page or a module names is there, so no page is half loaded.
func TestWhatPagesNameIsThere(t *testing.T) {
	names := regexp.MustCompile(`(?:src|href)="/static/([^"]+)"|from "\./([^"]+)"`)
	seen := 0
	for name, f := range load() {
		for _, m := range names.FindAllStringSubmatch(string(f.body), -1) {
			seen++
			if target := m[1] + m[2]; load()[target] == nil {
				t.Errorf("%s names %s, which is not there", name, target)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no page names anything")
	}
}

// An icon is a drawing only: no script hides in it.
func TestTheIconIsOnlyADrawing(t *testing.T) {
	icon := string(load()["icon.svg"].body)
	if !strings.HasPrefix(icon, "<svg") || regexp.MustCompile(`<script|\son[a-z]+=|<foreignObject|href`).MatchString(icon) {
		t.Error("the icon is more than a drawing")
	}
}
