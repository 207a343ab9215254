package pgdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// RawBytes are bytes of a row that are valid until the next row.
type RawBytes []byte

// errShort: the server sent fewer bytes than the type has.
var errShort = errors.New("the server sent a value of another length than its type has")

// decode stores a value of a column in the variable that dest points to. If dest is nil, the value is skipped.
func decode(f *pgconn.FieldDescription, data []byte, dest any) error {
	if dest == nil {
		return nil
	}
	if data == nil {
		return decodeNull(f, dest)
	}
	switch d := dest.(type) {
	case *RawBytes:
		*d = data
		return nil
	case *[]byte:
		*d = bytes.Clone(data)
		if *d == nil {
			*d = []byte{}
		}
		return nil
	case *[16]byte:
		if f.DataTypeOID == typeUUID && copy(d[:], data) == 16 {
			return nil
		}
	case *string:
		if isText(f) {
			*d = string(data)
			return nil
		}
	case *bool:
		if f.DataTypeOID == typeBool && len(data) == 1 {
			*d = data[0] == 1 || data[0] == 't' // binary or text
			return nil
		}
	case *time.Time:
		if f.DataTypeOID == typeTimestamptz && f.Format == binaryForm {
			n, err := decodeInt(f, data)
			*d = time.Unix(epoch+n/1e6, n%1e6*1e3)
			return err
		}
	case *[]string:
		return decodeTexts(f, data, d)
	case *int:
		n, err := decodeInt(f, data)
		*d = int(n)
		return err
	case *int64:
		n, err := decodeInt(f, data)
		*d = n
		return err
	default:
		return decodeKind(f, data, reflect.ValueOf(dest))
	}
	return mismatch(f, dest)
}

// decodeKind is decode by the kind of a type.
func decodeKind(f *pgconn.FieldDescription, data []byte, dest reflect.Value) error {
	if dest.Kind() != reflect.Pointer || dest.IsNil() {
		return mismatch(f, dest.Interface())
	}
	v := dest.Elem()
	switch k := v.Kind(); {
	case k == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(f, data, v.Interface())
	case k == reflect.String && isText(f):
		v.SetString(string(data))
		return nil
	case v.CanInt() || v.CanUint():
		n, err := decodeInt(f, data)
		switch {
		case err != nil:
			return err
		case v.CanInt() && !v.OverflowInt(n):
			v.SetInt(n)
			return nil
		case v.CanUint() && n >= 0 && !v.OverflowUint(uint64(n)):
			v.SetUint(uint64(n))
			return nil
		}
	case v.CanFloat() && f.DataTypeOID == typeFloat8 && len(data) == 8:
		v.SetFloat(math.Float64frombits(binary.BigEndian.Uint64(data)))
		return nil
	}
	return mismatch(f, dest.Interface())
}

func decodeNull(f *pgconn.FieldDescription, dest any) error {
	if v := reflect.ValueOf(dest); v.Kind() == reflect.Pointer && !v.IsNil() {
		if k := v.Elem().Kind(); k == reflect.Pointer || k == reflect.Slice {
			v.Elem().SetZero()
			return nil
		}
	}
	return fmt.Errorf("column %q has no value, which a %T cannot say", f.Name, dest)
}

// decodeInt reads an integer, or a time as its number of microseconds.
func decodeInt(f *pgconn.FieldDescription, data []byte) (int64, error) {
	if f.Format == textForm {
		n, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", f.Name, err)
		}
		return n, nil
	}
	size, n := 8, int64(0)
	switch f.DataTypeOID {
	case typeInt8, typeTimestamptz:
	case typeInt4, typeOID:
		size = 4
	case typeInt2:
		size = 2
	default:
		return 0, mismatch(f, n)
	}
	if len(data) != size {
		return 0, fmt.Errorf("column %q: %w", f.Name, errShort)
	}
	switch {
	case size == 8:
		n = int64(binary.BigEndian.Uint64(data))
	case f.DataTypeOID == typeOID:
		n = int64(binary.BigEndian.Uint32(data))
	case size == 4:
		n = int64(int32(binary.BigEndian.Uint32(data)))
	default:
		n = int64(int16(binary.BigEndian.Uint16(data)))
	}
	return n, nil
}

// decodeTexts reads an array of texts of one dimension.
func decodeTexts(f *pgconn.FieldDescription, data []byte, list *[]string) error {
	if element(f.DataTypeOID) != typeText || f.Format != binaryForm {
		return mismatch(f, list)
	}
	*list = []string{}
	take := func(n int) (b []byte) {
		if n < 0 || len(data) < n {
			return nil
		}
		b, data = data[:n:n], data[n:]
		return b
	}
	head := take(12)
	if head == nil {
		return fmt.Errorf("column %q: %w", f.Name, errShort)
	}
	if binary.BigEndian.Uint32(head) == 0 {
		return nil // an empty array has no dimension
	}
	dimension := take(8)
	if dimension == nil || binary.BigEndian.Uint32(head) != 1 {
		return fmt.Errorf("column %q: %w", f.Name, errShort)
	}
	for range binary.BigEndian.Uint32(dimension) {
		size := take(4)
		if size == nil {
			return fmt.Errorf("column %q: %w", f.Name, errShort)
		}
		text := take(int(int32(binary.BigEndian.Uint32(size))))
		if text == nil {
			return fmt.Errorf("column %q: %w", f.Name, errShort)
		}
		*list = append(*list, string(text))
	}
	return nil
}

func isText(f *pgconn.FieldDescription) bool {
	return f.Format == textForm || f.DataTypeOID == typeText || f.DataTypeOID == typeVarchar || f.DataTypeOID == typeName
}

func mismatch(f *pgconn.FieldDescription, dest any) error {
	return fmt.Errorf("column %q, of the database's type %d, cannot be read into a %T", f.Name, f.DataTypeOID, dest)
}
