/** Descriptions of message fields or record fields (section 2.4 of docs/service.md). */
import { membersAt, mismatch, optionalFlag, optionalText, text } from '../json/json-members.ts';

export interface PageField {
  readonly name: string;
  /** Type of the field, such as `long`, `int` or `string`. */
  readonly fieldType: string | undefined;
  /** True if an aggregation groups by this field. */
  readonly keyField: boolean;
}

/** Decodes field descriptions. Returns an empty list if the value is `null` or missing. */
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
