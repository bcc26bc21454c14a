import { describe, expect, test } from 'vitest';
import { splittability } from '../../../src/api/splittable.ts';

describe('a query can be split (E8)', () => {
  test.each([
    ['of words alone', 'error AND (timeout OR reset) NOT "health check"'],
    ['of a field with a wildcard that does not begin a comment', '_sourceCategory=prod/* error'],
    ['with wildcards in the middle', '_sourceCategory=prod/*/nginx'],
    ['that finds all', '*'],
    ['of nothing', ''],
    ['with a condition', '* | where _size > 1000 and not (_sourceHost matches "web-*")'],
    ['in capitals', '* | WHERE a = "b" | Fields a'],
    ['with a regular expression', '* | parse regex "status=(?<status>\\d+|none)" | where status >= 500'],
    ['with pipes and operators between quotes', '* | where a = "x | count by y" | fields a'],
    ['with quotes between quotes', '* | parse regex "\\"user\\":\\"(?<user>[^\\"|]+)\\"" nodrop'],
    ['with a backslash at the end of a text', '* | where a = "C:\\\\" | fields a'],
    ['with an anchor', '* | parse "user=* " as user nodrop'],
    ['with a named field', '* | parse field=_sourceHost "-*" as number'],
    ['with JSON', 'error | json auto | where %"items[0].id" >= 9'],
    ['with a JSON member', '* | json field=_raw "a.b" as b nodrop'],
    ['without some fields', '* | fields - _raw, _source'],
    ['with slices', '* | timeslice 1h30m as slice | where slice > 0'],
    ['with functions that read one row', '* | where length(trim(a)) > 3 | tolowercase(a) as b'],
    ['of a list', '* | where status in ("500", "502")'],
    ['on several lines', '*\n| where a = "b"\n| fields a'],
    ['with a long word', `* | where ${'a'.repeat(16_000)}`],
    ['with an apostrophe, and no pipe in a text', `user's error | where a = "b"`],
  ])('%s', (_, query) => {
    expect(splittability(query)).toEqual({ isSplittable: true });
  });

  test.each([
    ['adds up', '* | count', 'the operator count is not known'],
    ['counts, without blanks', '*|count by a', 'the operator count '],
    ['aggregates by a function', '* | sum(_size) as bytes', 'the operator sum '],
    ['aggregates after an operator that works row by row', '* | where a = "b" | count by a', 'the operator count '],
    ['sorts', '* | sort by _messagetime', 'the operator sort '],
    ['is bounded', '* | limit 100', 'the operator limit '],
    ['removes duplicates', '* | dedup by a', 'the operator dedup '],
    ['looks up values', '* | lookup a from path://x on b=b', 'the operator lookup '],
    ['joins', '* | join (a) as x, (b) as y on x.a = y.a', 'the operator join '],
    ['groups', 'error | transaction on a', 'the operator transaction '],
    ['has an unknown operator', '* | enrich a', 'the operator enrich '],
    ['divides the range into slices', '* | timeslice 100 buckets', 'timeslice, as it is written here, is not known'],
    ['makes several rows from one', '* | parse regex "(?<a>x)" multi', 'parse, as it is written here, is not known'],
    ['reads the current time', '* | where _receipttime > now() - 60000', 'the function now may depend'],
    [
      'reads the range of the query',
      '* | where _messagetime > queryStartTime()',
      'the function querystarttime may depend',
    ],
    ['calls an unknown function', '* | where geo(a) = "b"', 'the function geo '],
    ['has a subquery in its search', '[subquery: error | count by a | compose a] warn', 'a subquery'],
    ['has a subquery in a condition', '* | where [subquery: error | compose a]', 'a subquery'],
    ['has a number as operator', '* | 5', '"5" is not known to handle each row separately'],
    ['ends with a pipe', '* |', '"" is not known to handle each row separately'],
    [
      'has line breaks and control characters',
      '* | (a;\n\u0007b)',
      '"(a \\u0007b)" is not known to handle each row separately',
    ],
    ['has two pipes', '* || where a = "b"', '"" is not known to handle each row separately'],
    [
      'has an operator after a comment',
      '* | /* a */ count',
      '"/* a */ count" is not known to handle each row separately',
    ],
    ['has a quote without an end', '* | where a = "b', 'a quote without an end'],
    ['has many escaped quotes, and no closing quote', `* | where ${'"\\'.repeat(8000)}`, 'a quote without an end'],
    ['has an escaped quote without an end', '* | where a = "b\\"', 'a quote without an end'],
  ])('but not one that %s', (_, query, reason) => {
    expect(splittability(query)).toMatchObject({ isSplittable: false, reason: expect.stringContaining(reason) });
  });

  test.each([
    ['* | wher a = "b"', 'the operator wher is not known to handle each row separately (did you mean where?)'],
    ['* | conut by a', 'the operator conut is not known to handle each row separately (did you mean count?)'],
    ['* | join (a) as x', 'the operator join is not known to handle each row separately'],
    ['* | sum(_size)', 'the operator sum is not known to handle each row separately'],
    ['* | enrich a', 'the operator enrich is not known to handle each row separately'],
  ])('in %s, suggests a known operator only for a misspelt name', (query, reason) => {
    expect(splittability(query)).toMatchObject({ reason });
  });

  // A pipe inside quotes or a comment is not an operator. The service defines where quotes and comments end.
  test.each([
    ['apostrophes', `* | parse '"' as a | count | where b = '"'`],
    ['backquotes', '* | where a = `"` | count | where b = `"`'],
    ['a comment up to the end of the line', '* // say "\n| count | where a = "b"\n// "'],
    ['a comment', '* /* " */ | count | where a = "b" /* " */'],
    ['a comment that begins with a wildcard', 'prod/* " | count | where a = " */'],
    ['a backslash before a quote', '\\" | count | where a = "'],
    ['an apostrophe and a pipe inside of a text', `it's | where a = "b|c"`],
  ])('but not one with %s and pipes that might be quoted', (_, query) => {
    expect(splittability(query)).toMatchObject({ isSplittable: false });
  });
});
