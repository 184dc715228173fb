package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Codes of faults that the decoder finds.
const (
	faultSyntax       = "SYNTAX"        // not one JSON text
	faultDuplicateKey = "DUPLICATE_KEY" // a member name given twice
	faultUTF8         = "INVALID_UTF8"
	faultUnknownField = "UNKNOWN_FIELD" // names are case-sensitive
	faultType         = "TYPE"          // another JSON type, a fraction, or a number that does not fit
)

// fieldBytesMax bounds the pointer of a fault, so that no answer grows with a body.
const fieldBytesMax = 256

// strict is the one way in which bodies are read. Duplicate names, invalid UTF-8, names in another
// case and bytes after the end are refused by the library's defaults.
var strict = json.RejectUnknownMembers(true)

// withoutNull is strict for a body with a null in it. It asks at every value, which makes reading
// several times as long, so it is only for bodies that need it.
var withoutNull = json.JoinOptions(strict, json.WithUnmarshalers(json.UnmarshalFromFunc(refuseNull)))

// refuseNull takes null only for what can be absent, and that is a pointer. The library would make
// it a zero anywhere: a seat without a name, a quantity of 0.
func refuseNull(d *jsontext.Decoder, into any) error {
	if d.PeekKind() == 'n' && reflect.TypeOf(into).Elem().Kind() != reflect.Pointer {
		return errNull
	}
	return errors.ErrUnsupported // which leaves the value to the library
}

var errNull = errors.New("null where a value belongs")

// readBody reads the body into a pooled buffer, within the route's bound, and refuses what is not
// JSON by its own account.
func (x *exchange) readBody(r *http.Request) error {
	limit := x.route.BodyMax
	if r.ContentLength > limit {
		return refuse(codeBodyTooLarge)
	}
	if limit > bodyBytesMax && (r.ContentLength < 0 || r.ContentLength > bodyBytesMax) {
		// Large bodies are few at once: together they must not fill the memory.
		select {
		case x.server.mapUploads <- struct{}{}:
			x.large = true
		default:
			return refuse(inventory.Overloaded)
		}
	}
	x.buffer = buffers.Get().(*bytes.Buffer)
	if err := x.fill(r, limit); err != nil {
		return err
	}
	x.body = x.buffer.Bytes()
	if len(x.body) == 0 {
		if x.route.body == bodyRequired {
			return &inventory.Refusal{Code: inventory.Malformed, Detail: "A body is required."}
		}
		return nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return refuse(codeUnsupportedMediaType)
	}
	if !isPlain(r.Header["Content-Encoding"]) {
		x.Header().Set(headerAcceptEncoding, contentEncodingNone) // RFC 9110, 12.5.3
		return &inventory.Refusal{Code: codeUnsupportedMediaType, Detail: "A body is sent without a content coding."}
	}
	return nil
}

// isPlain reports whether a body comes as it is, and not compressed.
func isPlain(encodings []string) bool {
	for _, value := range encodings {
		for coding := range strings.SplitSeq(value, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, contentEncodingNone) {
				return false
			}
		}
	}
	return true
}

// fill reads the body while its time lasts.
func (x *exchange) fill(r *http.Request, limit int64) error {
	within := x.server.bodyTime
	if limit > bodyBytesMax {
		within = bodyTimeLarge
	}
	// Not every connection has deadlines; where there are none, the server's own bounds hold.
	connection := http.NewResponseController(x.ResponseWriter)
	timed := connection.SetReadDeadline(time.Now().Add(within)) == nil
	body := r.Body
	if r.ContentLength < 0 {
		body = http.MaxBytesReader(x.ResponseWriter, body, limit) // of a known length there are no more bytes than that
	}
	_, err := x.buffer.ReadFrom(body)
	if timed && err == nil {
		// After a failure the deadline stays: without one, net/http would look for the rest of the
		// body for as long as the client keeps its connection open.
		err = connection.SetReadDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.Header().Set("Connection", "close")
		return refuse(codeRequestTimeout)
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return refuse(codeBodyTooLarge)
	}
	// A body that breaks off is the client's doing, and so is a broken chunk.
	return &inventory.Refusal{Code: inventory.Malformed}
}

// isJSON reports whether a Content-Type is JSON in UTF-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" {
		return false
	}
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// Decode reads one JSON text as strictly as every body, for files that hold what bodies do. Refusals:
// Malformed and Invalid, each with the place.
func Decode(data []byte, into any) error { return decode(data, into) }

// decode reads one JSON text strictly. What is no JSON text is MALFORMED; a text that says
// something else than is asked for is INVALID, with the place. No error carries the client's values.
func decode(body []byte, into any) error {
	options := strict
	if bytes.Contains(body, []byte("null")) {
		options = withoutNull
	}
	err := json.Unmarshal(body, into, options)
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		// The library stops at the first thing it finds. Whether the text is JSON at all comes first.
		if err = checkSyntax(body); err == nil {
			return semanticFault(semantic)
		}
	}
	return syntaxFault(body, err)
}

// decodeOptional is decode for a body that may be empty.
func decodeOptional(body []byte, into any) error {
	if len(body) == 0 {
		return nil
	}
	return decode(body, into)
}

// checkSyntax reads the whole text and keeps nothing of it.
func checkSyntax(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if err := d.SkipValue(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			return &jsontext.SyntacticError{Err: errTrailing}
		}
		return err
	}
	return nil
}

var errTrailing = errors.New("bytes after the end")

func syntaxFault(body []byte, err error) error {
	fault := inventory.Fault{Code: faultSyntax}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		fault.Field = boundedPointer(string(syntactic.JSONPointer))
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		fault.Code = faultDuplicateKey
	case !utf8.Valid(body):
		fault.Code = faultUTF8
	}
	return &inventory.Refusal{Code: inventory.Malformed, Faults: []inventory.Fault{fault}}
}

func semanticFault(e *json.SemanticError) error {
	code := faultType
	switch {
	case errors.Is(e, json.ErrUnknownName):
		code = faultUnknownField
	case e.JSONKind == '"' && e.GoType == reflect.TypeFor[time.Time]():
		code = faultInvalid // a string, as it should be, but no RFC 3339 instant
	}
	return invalid(boundedPointer(string(e.JSONPointer)), code, "")
}

// boundedPointer cuts a pointer that names of the client's making made long at what holds them.
func boundedPointer(field string) string {
	if len(field) <= fieldBytesMax {
		return field
	}
	return field[:max(0, strings.LastIndexByte(field[:fieldBytesMax+1], '/'))]
}
