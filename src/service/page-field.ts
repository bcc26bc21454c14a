/** Descriptions of the fields that head a page of messages or records (2.4). */
import { membersAt, mismatch, optionalFlag, optionalText, text } from './json-members.ts';

export interface PageField {
  readonly name: string;
  /** `long`, `int` and `string` have been seen. */
  readonly fieldType: string | undefined;
  /** True for what an aggregation groups by. */
  readonly keyField: boolean;
}

/** The member `fields` of a page; `null`, or none at all, means that nothing is described. */
export function decodePageFields(value: unknown): readonly PageField[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw mismatch('fields', 'an array', value);
  return value.map((each: unknown, index) => decodePageField(each, `fields[${index}]`));
}

function decodePageField(value: unknown, path: string): PageField {
  const members = membersAt(value, path);
  return {
    name: text(members, 'name', path),
    fieldType: optionalText(members, 'fieldType', path),
    keyField: optionalFlag(members, 'keyField', path) ?? false,
  };
}
