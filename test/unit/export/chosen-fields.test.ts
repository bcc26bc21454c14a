import { expect, test } from 'vitest';
import { ChosenFields } from '../../../src/export/search/search-tools.ts';

const named = (...names: readonly string[]) => names.map((name) => ({ name, fieldType: 'string', keyField: false }));

test.each<[string, readonly string[], readonly (readonly string[])[], readonly string[]]>([
  ['are those that no page describes', ['_raw', 'srcHost', 'user'], [['_raw'], ['_raw', 'user']], ['srcHost']],
  ['are unknown before a page has a row', ['srcHost'], [], []],
  [
    'do not include documented fields in another case',
    ['_messagetime', '_sourcehost'],
    [['_messageTime', '_sourceHost']],
    [],
  ],
  ['include other fields in another case', ['User'], [['user']], ['User']],
  ['are unknown if a page describes no fields', ['srcHost'], [['_raw'], []], []],
  ['are reported once', ['srcHost', 'srcHost'], [['_raw']], ['srcHost']],
])('chosen fields that are missing %s', (_, chosen, pages, missing) => {
  const fields = new ChosenFields(chosen);
  for (const page of pages) fields.saw(named(...page));
  expect(fields.undescribed).toEqual(missing);
});
