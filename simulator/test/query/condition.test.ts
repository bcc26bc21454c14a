/** Tests conditions of the `where` operator, on messages and on records. */
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../query/query.ts';
import { message } from './message.ts';

const row = message({
  _sourceHost: 'Web-1',
  _sourceName: 'web-1',
  _size: '53',
  _messageid: '9007199254740993',
  _source: 'b*d',
  _messagecount: '1e2',
  _blockid: '007',
  _format: 'ten',
});

describe('where', () => {
  test.each<[string, boolean]>([
    ['_size = 53', true],
    ['_size = 53.0', true],
    ['_size != 53', false],
    ['_size < 100', true],
    ['_size < 53', false],
    ['_size <= 53', true],
    ['_size > 6', true],
    ['_size >= 53.5', false],
    ['_size > -1', true],
    ['100 > _size', true],
    ['_size = "53"', true],
    ['_size > "6"', false],
    ['_messagecount = 100', true],
    ['_blockid = 7', true],
    ['_blockid = "7"', false],
    ['_messageid = 9007199254740993', true],
    ['_messageid > 9007199254740992', true],
    ['_messageid != 9007199254740992', true],
    ['_format = 10', false],
    ['_format != 10', true],
    ['_format < 10', false],
    ['_format >= 10', false],
    ['_sourceHost = "web-1"', true],
    ['_sourceHost = _sourceName', true],
    ['_SOURCEHOST != "WEB-1"', false],
    ['_sourceHost < "web-2"', true],
    ['_size < _messagecount', true],
    ['_size < _format', true],
    ['_sourceHost matches "web-*"', true],
    ['_sourceHost matches "eb*"', false],
    [String.raw`_source matches "b\*d"`, true],
    [String.raw`_sourceHost matches "web\*"`, false],
    ['_source = "b*d"', true],
    ['_collector = ""', true],
    ['_collector != "x"', true],
    ['_collector < 5', false],
    ['_collector matches "*"', true],
    ['_size > 50 and _sourceHost = "web-1"', true],
    ['_size > 60 or _sourceHost = "web-1"', true],
    ['_size > 60 or _size < 50 and _sourceHost = "web-1"', false],
    ['(_size > 50 or _size < 50) and _sourceHost = "web-2"', false],
    ['not _size = 53', false],
    ['!(_size = 53)', false],
    ['not(_size > 60)', true],
    ['%"_size" = 53', true],
    ['1 < 2', true],
    ['"5" = 5', true],
    ['"x" = 5', false],
    ['"a" = "B"', false],
  ])('%s: %s', (condition, holds) => {
    expect(parseQuery(`* | where ${condition}`).filter.matches(row)).toBe(holds);
  });

  test('directly after the search selects messages', () => {
    const query = parseQuery('* | where _size > 60 | where _source = "x"');
    expect(query.transform).toBeUndefined();
    expect(query.filter.matches(message({ _size: '61', _source: 'x' }))).toBe(true);
    expect(query.filter.matches(message({ _size: '61' }))).toBe(false);
  });
});
