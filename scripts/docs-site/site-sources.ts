/**
 * Copies the documentation of a checkout for VitePress. If a page links to a file or folder that is not a page, creates
 * a page for this file or folder.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, normalize, relative } from 'node:path';
import { pages, startPage } from '../../tools/docs-site/navigation.ts';

/** Copies all pages and the files to which they link. Returns the page titles by path. */
export function copySources(checkout: string, target: string): Readonly<Record<string, string>> {
  const titles: Record<string, string> = {};
  for (const page of pages.filter((each) => existsSync(join(checkout, each)))) {
    const markdown = readFileSync(join(checkout, page), 'utf8');
    titles[page] = /^# (.+)$/m.exec(markdown)?.[1] ?? page;
    write(join(target, fileOf(page)), linkedToPages(markdown, page, checkout, target));
  }
  return titles;
}

/** Splits Markdown into parts that alternate between text and code. Parts with an odd index are code. */
const codeParts = /(^ *```[\s\S]*?^ *```$|`[^`\n]*`)/gm;
const linkTarget = /\]\(([^)\s#]+)(#[^)\s]*)?\)/g;
const pictureExtensions: readonly string[] = ['.png', '.svg'];

/**
 * Replaces links to files in the checkout with links to pages of the site. Creates linked pages that do not exist yet.
 */
function linkedToPages(markdown: string, page: string, checkout: string, target: string): string {
  const changed = (text: string) =>
    text.replaceAll(linkTarget, (link, path: string, anchor = '') => {
      if (/^[a-z]+:/.test(path)) return link;
      const linked = normalize(join(dirname(page), path)).replace(/\/$/, '');
      const place = pageFor(linked, checkout, target);
      return `](${relativePath(dirname(page), place)}${anchor})`;
    });
  return markdown
    .split(codeParts)
    .map((part, index) => (index % 2 === 0 ? changed(part) : part))
    .join('');
}

/**
 * Returns the site's page for a file or folder. Returns the path of a missing file unchanged, so that VitePress reports
 * the broken link.
 */
function pageFor(path: string, checkout: string, target: string): string {
  const source = join(checkout, path);
  if (pages.includes(path)) return fileOf(path);
  if (!existsSync(source)) return path;
  if (pictureExtensions.includes(extname(path))) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    copyFileSync(source, join(target, path));
    return path;
  }
  const isFolder = statSync(source).isDirectory();
  const place = isFolder ? `${path}/index.md` : `${path}.md`;
  const files = isFolder ? filesIn(source).map((name) => join(path, name)) : [path];
  const shown = files.map((file) => `## ${file}\n\n${codeBlock(readFileSync(join(checkout, file), 'utf8'), file)}`);
  write(
    join(target, place),
    `# ${path}\n\n${isFolder ? shown.join('\n') : codeBlock(readFileSync(source, 'utf8'), path)}`,
  );
  return place;
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function codeBlock(text: string, file: string): string {
  const language = { '.yaml': 'yaml', '.json': 'json', '.md': 'md', '.ts': 'ts' }[extname(file)] ?? 'text';
  return `\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

/** Returns the file from which a page is built. */
function fileOf(page: string): string {
  return page === startPage ? 'index.md' : page;
}

function relativePath(from: string, to: string): string {
  const path = relative(from, to);
  return path.startsWith('.') ? path : `./${path}`;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
