/** Tests how `make docs` copies pages and checks links. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { brokenLinks } from '../../../scripts/docs-site/broken-links.ts';
import { copySources } from '../../../scripts/docs-site/site-sources.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-docs-site-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function place(name: string, text: string): void {
  mkdirSync(dirname(join(directory, name)), { recursive: true });
  writeFileSync(join(directory, name), text);
}

describe('the pages of a checkout', () => {
  const copied = (name: string) => readFileSync(join(directory, 'site', name), 'utf8');
  const copy = () => copySources(join(directory, 'checkout'), join(directory, 'site'));

  test('are copied with their titles, and README.md is the start page', () => {
    place('checkout/README.md', '# logfleet\n\n[Stores](docs/stores.md#minio)\n');
    place('checkout/docs/stores.md', '# Stores\n\n[Start](../README.md)\n');
    expect(copy()).toEqual({ 'README.md': 'logfleet', 'docs/stores.md': 'Stores' });
    expect(copied('index.md')).toContain('[Stores](./docs/stores.md#minio)');
    expect(copied('docs/stores.md')).toContain('[Start](../index.md)');
  });

  test('link to pages that show the other files and folders in the checkout', () => {
    place('checkout/docs/stores.md', '[file](../examples/a.yaml), [folder](../examples), `[code](../examples)`\n');
    place('checkout/examples/a.yaml', 'kind: A\n');
    place('checkout/examples/b.yaml', 'kind: B\n');
    copy();
    expect(copied('docs/stores.md')).toBe(
      '[file](../examples/a.yaml.md), [folder](../examples/index.md), `[code](../examples)`\n',
    );
    expect(copied('examples/a.yaml.md')).toBe('# examples/a.yaml\n\n````yaml\nkind: A\n````\n');
    expect(copied('examples/index.md')).toMatch(/## examples\/a.yaml\n.*kind: A\n.*## examples\/b.yaml\n.*kind: B\n/s);
  });

  test.each(['.png', '.svg'])('show pictures in %s files', (extension) => {
    const picture = `page${extension}`;
    place('checkout/docs/ui.md', `![The page](${picture})\n`);
    place(`checkout/docs/${picture}`, 'picture');
    copy();
    expect(copied('docs/ui.md')).toBe(`![The page](./${picture})\n`);
    expect(copied(`docs/${picture}`)).toBe('picture');
  });
});

describe('the built site', () => {
  const broken = () => brokenLinks(join(directory, 'next'), '/docs/next/');

  test('has no broken link if all links lead to files and headings, or to other sites', () => {
    place(
      'next/index.html',
      '<a href="/docs/next/a.html#b">A</a><a href="/docs/v1/">v1</a><a href="https://k8s.io">K</a>',
    );
    place('next/a.html', '<h2 id="b">B</h2><a class="x" href="#b">B</a><img src="./p.svg">');
    place('next/p.svg', '');
    place('v1/index.html', '');
    expect(broken()).toEqual([]);
  });

  test('has a broken link if the file or the heading does not exist', () => {
    place('next/index.html', '<a href="/docs/next/a.html#c">C</a><a href="b.html">B</a>');
    place('next/a.html', '<h2 id="b">B</h2>');
    expect(broken()).toEqual([
      'index.html: /docs/next/a.html#c refers to a heading that does not exist',
      'index.html: b.html does not exist',
    ]);
  });

  test('must not load files from another server', () => {
    place(
      'next/index.html',
      '<link rel="stylesheet" href="https://fonts.example.com/a.css"><script src="//cdn.example.com/a.js">',
    );
    expect(broken().map((problem) => problem.split(' ').slice(2).join(' '))).toEqual([
      'is on another server',
      'is on another server',
    ]);
  });
});
