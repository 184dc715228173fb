package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description is the part of an OpenAPI document that the tests hold the server to.
type description struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Responses map[string]response `json:"responses"`
	} `json:"components"`
}

type operation struct {
	OperationID string                `json:"operationId"`
	Security    []map[string][]string `json:"security"`
	RequestBody *struct {
		Required bool `json:"required"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref         string `json:"$ref"`
	Description string `json:"description"`
	Headers     map[string]struct {
		Ref string `json:"$ref"`
	} `json:"headers"`
	Content map[string]struct{} `json:"content"`
}

// document checks answers against the OpenAPI document of this build.
type document struct {
	description
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

const documentURL = "mem:///openapi.json"

func openDocument(t testing.TB) *document {
	t.Helper()
	d := &document{compiler: jsonschema.NewCompiler(), schemas: make(map[string]*jsonschema.Schema)}
	if err := json.Unmarshal(openAPI, &d.description); err != nil {
		t.Fatalf("the document cannot be read: %v", err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, whole); err != nil {
		t.Fatal(err)
	}
	return d
}

// pointer makes a JSON Pointer of names.
func pointer(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(n))
	}
	return b.String()
}

// check says what is wrong with an answer: a status or a type that the document does not have for
// the operation, or a body that does not fit its schema.
func (d *document) check(method, pattern string, status int, contentType string, body []byte) error {
	op, ok := d.Paths[pattern][strings.ToLower(method)]
	if !ok {
		return fmt.Errorf("the document has no %s %s", method, pattern)
	}
	code := fmt.Sprint(status)
	res, ok := op.Responses[code]
	if !ok {
		return fmt.Errorf("%s %s: the document has no status %d", method, pattern, status)
	}
	at := pointer("paths", pattern, strings.ToLower(method), "responses", code)
	if name, found := strings.CutPrefix(res.Ref, "#/components/responses/"); found {
		at, res = pointer("components", "responses", name), d.Components.Responses[name]
	}
	kind, _, _ := strings.Cut(contentType, ";")
	if len(res.Content) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("%s %s: %d has a body", method, pattern, status)
		}
		return nil
	}
	if _, ok := res.Content[kind]; !ok {
		return fmt.Errorf("%s %s: %d is a %q, and the document knows %v", method, pattern, status, kind, res.Content)
	}
	if !strings.HasSuffix(kind, "json") {
		return nil
	}
	schema, err := d.schema(at + pointer("content", kind, "schema"))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %d is no JSON: %w", method, pattern, status, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s %s: %d: %w\n%s", method, pattern, status, err, body)
	}
	return nil
}

func (d *document) schema(at string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.schemas[at]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(documentURL + "#" + escapeFragment(at))
	if err != nil {
		return nil, err
	}
	d.schemas[at] = s
	return s, nil
}

// escapeFragment escapes what a fragment of a URL cannot hold.
func escapeFragment(s string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(s)
}

func TestTheDocumentHasExactlyTheRoutesOfTheTable(t *testing.T) {
	d := openDocument(t)
	documented := make(map[string]operation)
	ids := make(map[string]bool)
	for path, methods := range d.Paths {
		for method, op := range methods {
			if method == "parameters" {
				continue
			}
			documented[strings.ToUpper(method)+" "+path] = op
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s: the operation id %q is empty or taken", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	for _, rt := range table() {
		op, ok := documented[rt.label()]
		if !ok {
			t.Errorf("%s is not documented", rt.label())
			continue
		}
		delete(documented, rt.label())
		if (op.RequestBody != nil && op.RequestBody.Required) != (rt.body == bodyRequired) {
			t.Errorf("%s: the document and the table disagree on whether a body is required", rt.label())
		}
		if got, want := schemes(op.Security), schemesOf(rt.Access); !slices.Equal(got, want) {
			t.Errorf("%s: the document asks for %v, the table for %v", rt.label(), got, want)
		}
	}
	for label := range documented {
		t.Errorf("%s is documented and not served", label)
	}
}

func schemes(security []map[string][]string) []string {
	names := []string{}
	for _, s := range security {
		if len(s) == 0 {
			names = append(names, "nobody")
		}
		for name := range s {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func schemesOf(a Access) []string {
	switch a {
	case AccessPublic, AccessBuyer:
		return []string{"apiKey", "nobody"}
	case AccessHolder:
		return []string{"apiKey", "holdToken"}
	case AccessOrderer:
		return []string{"apiKey", "orderToken"}
	case AccessOrganizer:
		return []string{"apiKey"}
	}
	return []string{}
}

func TestTheDocumentHasEveryCodeWithItsStatus(t *testing.T) {
	d := openDocument(t)
	texts := make(map[int]string)
	for _, methods := range d.Paths {
		for _, op := range methods {
			for code, res := range op.Responses {
				if name, found := strings.CutPrefix(res.Ref, "#/components/responses/"); found {
					res = d.Components.Responses[name]
				}
				var status int
				fmt.Sscan(code, &status)
				texts[status] += res.Description
			}
		}
	}
	for code, a := range problemTable {
		if code == codeMethodNotAllowed {
			continue // the answer of no operation
		}
		if !strings.Contains(texts[a.status], "`"+string(code)+"`") {
			t.Errorf("the document does not say %s with %d", code, a.status)
		}
	}
}

// TestTheCheckOfAnswersCanFail plants faults in answers and wants each of them found.
func TestTheCheckOfAnswersCanFail(t *testing.T) {
	d := openDocument(t)
	const problem = `{"type":"/problems/not-found","title":"Not found","status":404,"code":"NOT_FOUND","request_id":"r"}`
	if err := d.check("GET", pathEvent, 404, "application/problem+json", []byte(problem)); err != nil {
		t.Fatalf("a good answer is refused: %v", err)
	}
	for name, err := range map[string]error{
		"path":   d.check("GET", "/v1/nothing", 404, "application/problem+json", []byte(problem)),
		"method": d.check("TRACE", pathEvent, 404, "application/problem+json", []byte(problem)),
		"status": d.check("GET", pathEvent, 418, "application/problem+json", []byte(problem)),
		"type":   d.check("GET", pathEvent, 404, "text/plain", []byte("404 page not found")),
		"syntax": d.check("GET", pathEvent, 404, "application/problem+json", []byte(`{`)),
		"member": d.check("GET", pathEvent, 404, "application/problem+json", []byte(strings.Replace(problem, "request_id", "request", 1))),
		"kind":   d.check("GET", pathEvent, 404, "application/problem+json", []byte(strings.Replace(problem, "404", `"404"`, 1))),
		"format": d.check("GET", pathKeys, 200, "application/json",
			[]byte(`{"data":[{"id":"k","name":"n","role":"organizer","hint":"rk_","created_at":"yesterday","revoked_at":null}],"next":null}`)),
	} {
		if err == nil {
			t.Errorf("an answer with a wrong %s passes", name)
		}
	}
}
