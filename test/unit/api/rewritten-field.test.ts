import { describe, expect, test } from 'vitest';
import { rewrittenField } from '../../../src/api/rewritten-field.ts';

describe('a query overwrites', () => {
  test.each([
    ['* | parse "time=*" as _messagetime', '_messagetime'],
    ['* | parse "time=*;id=*" as time, _messageid nodrop', '_messageid'],
    ['* | parse "time=*" AS _MessageTime', '_messagetime'],
    ['*|parse "a|b=*" as\n_messageId', '_messageid'],
    ['* | parse field=_raw "time=*" as %"_messagetime"', '_messagetime'],
    ['* | parse regex "time=(?<_messagetime>\\d+)"', '_messagetime'],
    ['* | parse regex field=_raw "id=(?P<_MESSAGEID>\\d+)" nodrop', '_messageid'],
    ['* | extract "\\"id\\":(?<_messageid>\\d+)"', '_messageid'],
    ['* | json "time" as _messagetime', '_messagetime'],
    ['* | json field=_raw "a", "b" as a, _messageid', '_messageid'],
    ['* | json "_messagetime"', '_messagetime'],
    ['* | keyvalue "_messageid", "b"', '_messageid'],
    ['* | csv _raw extract 1 as a, 2 as _messagetime', '_messagetime'],
    ['* | parse "time=*" as /* a comment */ _messagetime', '_messagetime'],
    ["* | parse regex '(?<_messagetime>\\d+)'", '_messagetime'],
    ['* | parse "time=*" as `_messagetime`', '_messagetime'],
    ['* | csv _raw extract a, _messageid', '_messageid'],
    ["* | split _raw delim=',' extract _messageid", '_messageid'],
    ['* | timeslice 5m as _messagetime', '_messagetime'],
    ['* | where a = "b" | timeslice 1m as _messageTime | fields _messageTime', '_messagetime'],
    ['* | concat(a, b) as _messageid', '_messageid'],
    ['* | if (a > 1, a, b) as _receipttime', '_receipttime'],
    ['* | lookup _messagetime from path://x on b=b', '_messagetime'],
    ['* | fields - _raw, _messageid', '_messageid'],
    ['* | fields -_messagetime', '_messagetime'],
    ['* | parse "a=*;time=*" as %"a b" , _messagetime', '_messagetime'],
    ['* | parse "a=*" as a | parse "time=*" as _messagetime | where "b', '_messagetime'],
  ])('%s', (query, field) => {
    expect(rewrittenField(query)).toBe(field);
  });

  test.each([
    ['no field, if it has only words', '_messagetime as _messagetime'],
    ['another field', '* | parse "time=*" as time'],
    ['a field with a longer name', '* | parse "time=*" as _messagetime2, _messageid_old'],
    ['none, if the names are read', '* | parse field=_messageid "-*" as number | where _messagetime > 5'],
    ['none, if a JSON member gets another name', '* | json "_messagetime" as time'],
    ['none, if a text contains the names', '* | where a = "b as _messagetime" and b = "_messageid"'],
    ['none, if a pipe separates the words', '* | parse "a=*" as a | where _messageid = 5'],
    ['none, if the fields are shown', '* | fields _messagetime, _messageid, _raw'],
    ['none, if a path contains the name', '* | json "a._messagetime"'],
    ['none, if a long list has no names', `* | where a as b${', '.repeat(8000)}`],
    ['none, if a text has no closing quote', `* | where ${'"\\'.repeat(8000)}`],
    ['none, if groups have other names', '* | parse regex "(?<time>\\d+)(?<messageid>\\d+)"'],
  ])('%s', (_name, query) => {
    expect(rewrittenField(query)).toBe(undefined);
  });
});
