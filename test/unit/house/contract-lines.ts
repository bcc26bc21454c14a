/** Finds the parts of docs/service.md that no test in `test/contract/` mentions. */
import type { ParsedSourceFile, SyntaxNode } from './source-file.ts';

/** Number of the last chapter of the specification in docs/service.md. The specification begins with chapter 1. */
const lastChapter = 9;

export interface ContractLines {
  /** Number of a section, such as `4.6`, or of a chapter without sections, such as `8`. */
  readonly sections: readonly string[];
  /** Names of JSON members and parameters in the tables in chapters 2 to 4 of docs/service.md. */
  readonly names: readonly string[];
  /** Identifiers of the errors defined in chapter 7. */
  readonly errors: readonly string[];
  /** Names of the limits defined in chapter 8. */
  readonly limits: readonly string[];
}

export function contractLines(markdown: string): ContractLines {
  const numbers = [...markdown.matchAll(/^(?:#{2,3} |- \*\*)(\d{1,2}(?:\.\d{1,2})?)(?: |\*\*)/gm)]
    .map(([, number = '']) => number)
    .filter((number) => Number.parseInt(number, 10) <= lastChapter);
  const chapters = (first: number, last: number) =>
    markdown
      .split(/^## /m)
      .slice(1)
      .filter((chapter) => Number.parseInt(chapter, 10) >= first && Number.parseInt(chapter, 10) <= last)
      .join('\n');
  return {
    sections: numbers.filter((number) => !numbers.some((other) => other.startsWith(`${number}.`))),
    names: quotedCells(chapters(2, 4), ['member', 'field', 'parameter', 'query parameter', 'state']),
    errors: quotedCells(chapters(7, 7), ['identifier']),
    limits: cells(chapters(8, 8), ['what']),
  };
}

/** Returns the texts in code style in the table columns with these headers. */
function quotedCells(markdown: string, headers: readonly string[]): string[] {
  const found = cells(markdown, headers).flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  return [...new Set(found)];
}

function cells(markdown: string, headers: readonly string[]): string[] {
  const tables = markdown.match(/(?:^\|.*\|\n)+/gm) ?? [];
  return tables.flatMap((table) => {
    const [head = [], , ...rows] = table
      .trimEnd()
      .split('\n')
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    const columns = [...head.keys()].filter((column) => headers.includes((head[column] as string).replaceAll('`', '')));
    return rows.flatMap((row) => columns.map((column) => row[column] ?? ''));
  });
}

export interface ContractCitations {
  readonly titles: readonly string[];
  readonly sections: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
}

export function contractCitations(files: readonly ParsedSourceFile[]): ContractCitations {
  const titles: string[] = [];
  const sections = new Set<string>();
  const words = new Set<string>();
  for (const file of files) {
    file.walk((node) => {
      for (const text of textsOf(node)) for (const word of [text, ...text.split(/[^\w.]+/)]) words.add(word);
      const title = titleOf(node);
      if (!title) return;
      titles.push(title.text);
      const opening = title.isGroup ? /^(\d{1,2}(?:\.\d{1,2})?) /.exec(title.text)?.[1] : undefined;
      const inBrackets = [...title.text.matchAll(/\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
      for (const section of [opening ?? '', ...inBrackets]) sections.add(section);
    });
  }
  return { titles, sections, words };
}

/** Returns the parts of docs/service.md that no test cites, except those in the sections `unseen`. */
export function uncitedLines(
  lines: ContractLines,
  { titles, sections, words }: ContractCitations,
  unseen: readonly string[],
) {
  const missing = (what: string, wanted: readonly string[], isCited: (line: string) => boolean) =>
    wanted.filter((line) => !isCited(line)).map((line) => `no test cites the ${what} ${line}`);
  return [
    ...missing('section', lines.sections, (section) => sections.has(section) || unseen.includes(section)),
    ...missing('name', lines.names, (name) => words.has(name)),
    ...missing('error', lines.errors, (error) => words.has(error)),
    ...missing('limit', lines.limits, (limit) => titles.some((title) => title.startsWith(`${limit}:`))),
  ];
}

function textsOf(node: SyntaxNode): readonly string[] {
  const { type, name, value } = node;
  if (type === 'Identifier') return [name as string];
  return type === 'Literal' && typeof value === 'string' ? [value] : [];
}

const groups = ['describe'];
const tests = ['test', 'testSimulated'];

/** Returns the title of a test or a group of tests. The title of a parameterized test contains placeholders. */
function titleOf(node: SyntaxNode): { readonly text: string; readonly isGroup: boolean } | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const called = rootName(node['callee'] as SyntaxNode);
  if (called === undefined || ![...groups, ...tests].includes(called)) return undefined;
  const [first] = node['arguments'] as readonly SyntaxNode[];
  const text = first && textOfTitle(first);
  return text === undefined ? undefined : { text, isGroup: groups.includes(called) };
}

/** Returns the name of the called function, such as `test` for `test.each(...)(...)`. */
function rootName(callee: SyntaxNode): string | undefined {
  switch (callee.type) {
    case 'Identifier':
      return callee['name'] as string;
    case 'CallExpression':
      return rootName(callee['callee'] as SyntaxNode);
    case 'MemberExpression':
      return rootName(callee['object'] as SyntaxNode);
    default:
      return undefined;
  }
}

function textOfTitle(node: SyntaxNode): string | undefined {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined;
  if (node.type !== 'TemplateLiteral') return undefined;
  const pieces = node['quasis'] as readonly { readonly value: { readonly cooked: string } }[];
  return pieces.map(({ value }) => value.cooked).join('…');
}
