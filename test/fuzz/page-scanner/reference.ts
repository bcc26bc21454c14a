/** Reference reader for message pages. Tests compare the page scanner with it. */
import { parseTree, type TreeNode } from './token-tree.ts';

export interface ReferenceRow {
  /** Offset of the first byte of the row's `map` object. `end` is the offset of the first byte after that object. */
  readonly start: number;
  readonly end: number;
  readonly messageTimeMs: number;
  readonly messageId: string;
  readonly receiptTimeMs: number | undefined;
  readonly size: number | undefined;
}

export interface ReferenceField {
  readonly name: string;
  readonly fieldType: string | undefined;
  readonly keyField: boolean;
}

export interface Reference {
  /** Complete rows on the page before the first error. */
  readonly rows: readonly ReferenceRow[];
  /** Offset of the first error on the page, or undefined if the page is valid. */
  readonly wrongAt: number | undefined;
  readonly warning: string | undefined;
  readonly fields: readonly ReferenceField[];
  /** How the results of `JSON.parse` and the tokenizer differ for the page, or undefined if they agree. */
  readonly disagreement: string | undefined;
}

const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

export function readReference(page: Buffer): Reference {
  const marked = [...byteOrderMark].findIndex((byte, place) => page[place] !== byte);
  if (marked > 0) return { ...nothing, wrongAt: marked };
  const text = Buffer.from(page);
  // Replaces the byte order mark with spaces of the same length, so that offsets do not change.
  if (marked === -1) text.fill(' ', 0, byteOrderMark.length);
  const { root, wrongAt } = parseTree(text);
  const verdict = judge(text);
  const disagreement = disagreementOn(verdict, wrongAt, root, text);
  if (disagreement !== undefined) return { ...nothing, disagreement };
  const reading = new PageReading(text);
  reading.read(root);
  const { rows } = reading;
  // The offset from `JSON.parse` takes precedence, because the tokenizer reports a misplaced token at a later byte.
  const noJsonAt = verdict.wrongAt ?? wrongAt;
  if (reading.wrongAt !== undefined) return { ...nothing, rows, wrongAt: reading.wrongAt };
  return noJsonAt === undefined ? { ...nothing, rows, ...headOf(text) } : { ...nothing, rows, wrongAt: noJsonAt };
}

const nothing: Reference = { rows: [], wrongAt: undefined, warning: undefined, fields: [], disagreement: undefined };

interface JsonVerdict {
  readonly isJson: boolean;
  /** Offset of the error that `JSON.parse` reports, or undefined if the text is valid. */
  readonly wrongAt?: number;
}

/** Each character stands for one byte, so positions in the text are byte offsets. */
function judge(text: Buffer): JsonVerdict {
  try {
    JSON.parse(text.toString('latin1'));
    return { isJson: true };
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    return { isJson: false, ...(position === undefined ? {} : { wrongAt: Number(position) }) };
  }
}

function disagreementOn(verdict: JsonVerdict, wrongAt: number | undefined, root: TreeNode | undefined, text: Buffer) {
  const reported = `JSON.parse: ${verdict.isJson}, wrong at ${verdict.wrongAt}; tokens: wrong at ${wrongAt}`;
  // The tokenizer reports a number at the end of the text as incomplete, because more digits could follow.
  if (verdict.isJson)
    return wrongAt === undefined || (wrongAt === text.length && root === undefined) ? undefined : reported;
  const first = verdict.wrongAt ?? wrongAt;
  return first !== undefined && first <= (wrongAt ?? text.length) ? undefined : reported;
}

/** Returns the warning and the field descriptions at the beginning of a valid page. */
function headOf(text: Buffer): Pick<Reference, 'warning' | 'fields'> {
  const { warning, fields } = JSON.parse(text.toString('utf8'));
  return { warning: warning ?? undefined, fields: fieldsOf(fields ?? []) as ReferenceField[] };
}

/** Returns the field descriptions of a page, or undefined if one of them is invalid. */
function fieldsOf(list: readonly unknown[]): readonly ReferenceField[] | undefined {
  const fields: ReferenceField[] = [];
  for (const each of list) {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return undefined;
    const { name, fieldType, keyField } = each as Readonly<Record<string, unknown>>;
    if (typeof name !== 'string' || typeof (fieldType ?? '') !== 'string') return undefined;
    if (typeof (keyField ?? true) !== 'boolean') return undefined;
    fields.push({ name, fieldType: (fieldType ?? undefined) as string | undefined, keyField: keyField === true });
  }
  return fields;
}

/** Reads the page up to its first error. Each method reads one element, and returns false if reading must stop. */
class PageReading {
  readonly rows: ReferenceRow[] = [];
  wrongAt: number | undefined;
  readonly #text: Buffer;

  constructor(text: Buffer) {
    this.#text = text;
  }

  read(root: TreeNode | undefined): boolean {
    if (!root) return false;
    if (root.kind !== 'object') return this.#wrong(root.start);
    let hasMessages = false;
    for (const { name, start, value } of root.members) {
      if (name === 'messages' && hasMessages) return this.#wrong(start);
      hasMessages ||= name === 'messages';
      if (!value || !this.#member(name, value)) return false;
    }
    return hasMessages || root.end === undefined || this.#wrong(root.end - 1);
  }

  #wrong(at: number): false {
    this.wrongAt = at;
    return false;
  }

  #member(name: string, value: TreeNode): boolean {
    switch (name) {
      case 'messages':
        return this.#messages(value);
      case 'warning':
        return value.kind === 'string' || value.kind === 'null' || this.#wrong(value.start);
      case 'fields':
        return this.#fields(value);
      default:
        return isWhole(value);
    }
  }

  #fields(value: TreeNode): boolean {
    if (value.kind === 'null') return true;
    if (value.kind !== 'array') return this.#wrong(value.start);
    if (value.end === undefined) return false;
    const list = JSON.parse(this.#text.toString('utf8', value.start, value.end));
    return fieldsOf(list) !== undefined || this.#wrong(value.start);
  }

  #messages(value: TreeNode): boolean {
    if (value.kind === 'null') return true;
    if (value.kind !== 'array') return this.#wrong(value.start);
    return value.items.every((item) => this.#element(item)) && isWhole(value);
  }

  #element(item: TreeNode): boolean {
    if (item.kind !== 'object') return this.#wrong(item.start);
    let hasMap = false;
    for (const { name, start, value } of item.members) {
      if (name === 'map' && hasMap) return this.#wrong(start);
      hasMap ||= name === 'map';
      if (!value || !(name === 'map' ? this.#row(value) : isWhole(value))) return false;
    }
    if (item.end === undefined) return false;
    return hasMap || this.#wrong(item.end - 1);
  }

  #row(map: TreeNode): boolean {
    if (map.kind !== 'object') return this.#wrong(map.start);
    if (map.end === undefined) return false;
    const time = lastOf(map, '_messagetime');
    const id = lastOf(map, '_messageid');
    const receipt = lastOf(map, '_receipttime');
    const messageTimeMs = instantOf(time);
    if (messageTimeMs === undefined) return this.#wrong(time?.start ?? map.end - 1);
    const messageId = integerOf(id);
    if (messageId === undefined) return this.#wrong(id?.start ?? map.end - 1);
    const receiptTimeMs = instantOf(receipt);
    const isAbsent =
      receipt === undefined || receipt.kind === 'null' || (receipt.kind === 'string' && receipt.text === '');
    if (receiptTimeMs === undefined && !isAbsent) return this.#wrong(receipt.start);
    this.rows.push({
      start: map.start,
      end: map.end,
      messageTimeMs,
      messageId,
      receiptTimeMs,
      size: amountOf(lastOf(map, '_size')),
    });
    return true;
  }
}

function isWhole({ kind, end }: TreeNode): boolean {
  return end !== undefined || (kind !== 'object' && kind !== 'array');
}

function lastOf(map: TreeNode, name: string): TreeNode | undefined {
  return map.members.findLast((member) => member.name.toLowerCase() === name)?.value;
}

function textOf(node: TreeNode | undefined): string {
  return node?.kind === 'string' || node?.kind === 'number' ? node.text : '';
}

function instantOf(node: TreeNode | undefined): number | undefined {
  const wholeMs = wholeOf(node);
  return wholeMs === undefined || Number.isNaN(new Date(wholeMs).valueOf()) ? undefined : wholeMs;
}

function wholeOf(node: TreeNode | undefined): number | undefined {
  const text = textOf(node);
  if (!/^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function amountOf(node: TreeNode | undefined): number | undefined {
  const amount = wholeOf(node);
  return amount !== undefined && amount >= 0 ? amount : undefined;
}

function integerOf(node: TreeNode | undefined): string | undefined {
  const text = textOf(node);
  if (!/^-?[0-9]{1,19}$/.test(text)) return undefined;
  return BigInt.asIntN(64, BigInt(text)) === BigInt(text) ? text : undefined;
}
