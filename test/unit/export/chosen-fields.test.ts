import { expect, test } from 'vitest';
import { ChosenFields } from '../../../src/export/search/search-tools.ts';

const named = (...names: readonly string[]) => names.map((name) => ({ name, fieldType: 'string', keyField: false }));

test.each<[string, readonly string[], readonly (readonly string[])[], readonly string[]]>([
  ['are those that no page describes', ['_raw', 'srcHost', 'user'], [['_raw'], ['_raw', 'user']], ['srcHost']],
  ['are none before a page has a row', ['srcHost'], [], []],
  [
    'are not those of the service itself in another case',
    ['_messagetime', '_sourcehost'],
    [['_messageTime', '_sourceHost']],
    [],
  ],
  ['are those of others in another case', ['User'], [['user']], ['User']],
  ['are not known where a page describes none', ['srcHost'], [['_raw'], []], []],
  ['are told once', ['srcHost', 'srcHost'], [['_raw']], ['srcHost']],
])('fields that are chosen and missing %s', (_, chosen, pages, missing) => {
  const fields = new ChosenFields(chosen);
  for (const page of pages) fields.saw(named(...page));
  expect(fields.undescribed).toEqual(missing);
});
