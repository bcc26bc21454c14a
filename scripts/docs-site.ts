/**
 * `make docs`: builds the documentation in `out/docs/`, with one folder for the checkout (`next`) and one for each Git
 * tag. BASE is the path of the site on its web server. Fails if a link is broken, or if a page would load a file from
 * another server.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { vitepressPackages } from '../tools/installer/vitepress.ts';
import { brokenLinks } from './docs-site/broken-links.ts';
import { copySources } from './docs-site/site-sources.ts';

const root = join(import.meta.dirname, '..');
const out = join(root, 'out/docs');
const base = process.env['BASE'] || '/';
if (!/^\/(?:[\w.-]+\/)*$/.test(base)) {
  console.error(`BASE is ${base}: set BASE to a path that begins and ends with a slash, such as /logfleet/`);
  process.exit(2);
}

const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: root, maxBuffer: 2 ** 30 });
const tags = git('tag', '--list', 'v*', '--sort=-version:refname').toString().split('\n').filter(Boolean);
const versions = ['next', ...tags];
const packages = await vitepressPackages();

/** Returns a folder with the files of a version: the checkout for `next`, or a copy of the files of a Git tag. */
function checkoutOf(version: string, work: string): string {
  if (version === 'next') return root;
  const checkout = join(work, 'checkout');
  mkdirSync(checkout);
  execFileSync('tar', ['-x', '-C', checkout], { input: git('archive', version) });
  return checkout;
}

/** Builds the documentation of one version. Sets the exit status if VitePress fails. */
function build(version: string): void {
  const work = mkdtempSync(join(tmpdir(), 'logfleet-docs-'));
  try {
    const pages = join(work, 'pages');
    const titles = copySources(checkoutOf(version, work), pages);
    const settings = join(pages, '.vitepress');
    cpSync(join(root, 'tools/docs-site'), settings, { recursive: true });
    const site = JSON.stringify({ base, version, versions, titles });
    writeFileSync(
      join(settings, 'config.ts'),
      `import { siteConfig } from './site-config.ts';\nexport default siteConfig(${site});\n`,
    );
    symlinkSync(packages, join(work, 'node_modules'));
    const vitepress = join(packages, 'vitepress/bin/vitepress.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [
      vitepress,
      'build',
      pages,
      '--outDir',
      join(out, version),
    ]);
    // A successful build prints only warnings.
    if (status === 0) return;
    console.error(`VitePress cannot build the pages of ${version}:\n${stdout}\n${stderr}`);
    process.exitCode = 1;
  } finally {
    rmSync(work, { recursive: true });
  }
}

rmSync(out, { recursive: true, force: true });
for (const version of versions) build(version);
// If there is no release, the start page redirects to the checkout's documentation.
const newest = versions[1] ?? 'next';
writeFileSync(
  join(out, 'index.html'),
  `<!doctype html>\n<title>logfleet</title>\n<meta http-equiv="refresh" content="0; url=${newest}/">\n<a href="${newest}/">logfleet ${newest}</a>\n`,
);
// Links are checked only after all versions have been built, because pages link to pages of other versions.
const broken = versions.flatMap((version) =>
  brokenLinks(join(out, version), `${base}${version}/`).map((problem) => `${version}/${problem}`),
);
for (const problem of broken) console.error(problem);
if (broken.length > 0) process.exitCode = 1;
console.log(
  `${relative(root, out)} contains the versions ${versions.join(', ')}. Serve this folder at ${base} on a web server.`,
);
