/** Finds broken links and assets in a built site, and assets from other servers. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Returns a message for each broken link in `folder`. `base` is the path of the folder on its web server. */
export function brokenLinks(folder: string, base: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
  return files.flatMap((file) => {
    const html = readFileSync(join(folder, file), 'utf8');
    return [...html.matchAll(/<(\w+)[^>]*? (?:href|src)="([^"]*)"/g)].flatMap(([, element = '', address = '']) => {
      const problem = problemOf(element, new URL(address, `http://site${base}${file}`), folder, base);
      return problem === undefined ? [] : [`${file}: ${address} ${problem}`];
    });
  });
}

function problemOf(element: string, { host, pathname, hash }: URL, folder: string, base: string): string | undefined {
  if (host !== 'site') return element === 'a' ? undefined : 'is on another server';
  // A link to another version of the documentation leads to a folder next to `folder`.
  const path = relative(base, decodeURI(pathname));
  const file = join(folder, path, pathname.endsWith('/') ? 'index.html' : '');
  if (!existsSync(file)) return 'does not exist';
  if (hash === '') return undefined;
  const id = decodeURIComponent(hash.slice(1));
  return readFileSync(file, 'utf8').includes(` id="${id}"`) ? undefined : 'refers to a heading that does not exist';
}
