/** Tests that cited sections and rules exist, and that no link on a documentation page is broken. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { anchorOf } from '../../../tools/docs-site/anchors.ts';
import { pages } from '../../../tools/docs-site/navigation.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const service = readFileSync(join(root, 'docs/service.md'), 'utf8');
const protocol = readFileSync(join(root, 'docs/protocol.md'), 'utf8');

/** Section numbers of the headings and bold list items in docs/service.md. */
const sections = new Set(
  [...service.matchAll(/^(?:#{2,3} |- \*\*)(\d{1,2}(?:\.\d{1,2})?)(?: |\*\*)/gm)].map((match) => match[1]),
);
const rules = new Set([...protocol.matchAll(/^### ([BLUREH]\d{1,2}) /gm)].map((match) => match[1]));

const number = String.raw`\d{1,2}(?:\.\d{1,2})?`;
const dotted = String.raw`\d{1,2}\.\d{1,2}`;
const listOf = (one: string) => `${one}(?:(?:, | and | or | to |–)${one})*`;
/** The ways in which a text can cite a section: after the word `section`, in brackets, or at the start of a comment. */
const citationForms = [
  new RegExp(
    String.raw`(?:§ ?|\bspecification(?:'s)?,? (?:(?:sections?|chapters?) )?|\b(?:sections?|chapters?) )(${listOf(number)})(?![\d-])`,
    'gi',
  ),
  new RegExp(String.raw`\((${listOf(dotted)})[),;:]`, 'g'),
  new RegExp(String.raw`/\*\* (${listOf(dotted)})[.;:,)] `, 'g'),
];

interface Citation {
  readonly cited: string;
  readonly line: number;
}

/** Returns the source file with everything except comments and test titles replaced with spaces. */
function prose(source: string): string {
  const kept = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$|\b(?:describe|it|test)(?:\.\w+)?\((?:`[^`]*`|'(?:[^'\\\n]|\\.)*')/gm;
  let text = '';
  let end = 0;
  for (const match of source.matchAll(kept)) {
    text += blank(source.slice(end, match.index)) + match[0];
    end = match.index + match[0].length;
  }
  return text + blank(source.slice(end));
}

const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ');

function citations(source: string): { readonly sections: Citation[]; readonly rules: Citation[] } {
  const text = prose(source);
  const lineAt = (index: number) => text.slice(0, index).split('\n').length;
  const ruleCitations = [...text.matchAll(/(?<![\w-])[BLUREH]\d{1,2}(?![\w-])/g)];
  return {
    sections: citationForms.flatMap((form) =>
      [...text.matchAll(form)].flatMap((match) =>
        [...(match[1] ?? '').matchAll(new RegExp(number, 'g'))].map(([cited]) => ({
          cited,
          line: lineAt(match.index),
        })),
      ),
    ),
    rules: ruleCitations.map((match) => ({ cited: match[0], line: lineAt(match.index) })),
  };
}

function filesBelow(folder: string, extension: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) === extension)
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

describe('a citation in code', () => {
  it('is found in each form that comments use', () => {
    const found = citations(`
      /** 4.6. A page. See (2.7), (3.1, 5.3). */ /* (protocol U3, B1) */ /* section 8 */ /* the specification's sections 4.7 to 4.9 */
      it('U15: one task', () => {}); // § 7.5
      const notCited = '(9.9) U99'; // takes 2.5 s and 1.05 requests, as in 19.253-26 on E2E
    `);
    expect(found.sections.map(({ cited }) => cited).sort()).toEqual([
      '2.7',
      '3.1',
      '4.6',
      '4.7',
      '4.9',
      '5.3',
      '7.5',
      '8',
    ]);
    expect(found.rules).toEqual([
      { cited: 'U3', line: 2 },
      { cited: 'B1', line: 2 },
      { cited: 'U15', line: 3 },
    ]);
  });

  it('exists in docs/service.md or docs/protocol.md', () => {
    const missing: string[] = [];
    for (const file of ['src', 'simulator', 'test', 'bench', 'scripts'].flatMap((folder) =>
      filesBelow(folder, '.ts'),
    )) {
      if (resolve(root, file) === fileURLToPath(import.meta.url)) continue;
      const found = citations(readFileSync(join(root, file), 'utf8'));
      for (const { cited, line } of found.sections) {
        if (!sections.has(cited)) missing.push(`${file}:${line}: docs/service.md has no section ${cited}`);
      }
      for (const { cited, line } of found.rules) {
        if (!rules.has(cited)) missing.push(`${file}:${line}: docs/protocol.md has no rule ${cited}`);
      }
    }
    expect(missing).toEqual([]);
  });
});

describe('the rules', () => {
  it('are numbered without gaps, and each has a reason', () => {
    const numbered = (letter: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
    expect([...protocol.matchAll(/^### ([BLUREH]\d+) /gm)].map((match) => match[1])).toEqual([
      ...numbered('B', 8),
      ...numbered('L', 2),
      ...numbered('U', 15),
      ...numbered('R', 11),
      ...numbered('E', 16),
      ...numbered('H', 3),
    ]);
    const withoutReason = protocol
      .split(/^### /m)
      .slice(1)
      .filter((rule) => !/\*Why[^*]*:\*/.test(rule));
    expect(withoutReason).toEqual([]);
  });
});

/** Ids of the headings on the rendered page. */
function anchorsOf(markdown: string): Set<string> {
  const headings = withoutCode(markdown).matchAll(/^#{1,6} (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => anchorOf(heading)));
}

const withoutCode = (markdown: string) => markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');

describe('the site', () => {
  it('has every page of docs/', () => {
    const missing = filesBelow('docs', '.md').filter((page) => !pages.includes(page));
    expect(missing, 'Add these pages to tools/docs-site/navigation.ts.').toEqual([]);
  });

  it('has each page once', () => {
    expect(pages).toEqual([...new Set(pages)]);
    expect(pages.filter((page) => !existsSync(join(root, page)))).toEqual([]);
  });
});

describe('the links of a page', () => {
  it.each(pages)('%s: lead to a file, and to a heading where they name one', (page) => {
    const broken: string[] = [];
    const markdown = readFileSync(join(root, page), 'utf8');
    for (const [, target = ''] of withoutCode(markdown)
      .replaceAll(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? join(root, page) : resolve(root, dirname(page), path);
      if (!existsSync(file)) broken.push(target);
      else if (anchor && !anchorsOf(readFileSync(file, 'utf8')).has(anchor)) broken.push(target);
    }
    expect(broken).toEqual([]);
  });
});
