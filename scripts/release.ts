/**
 * `make release VERSION=… URL=…`: checks the checkout, builds the files of a release in `out/`, and prints the next
 * steps. It publishes nothing. `URL` is the address at which the files will be published.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ArtifactKind, artifactKinds, withProgram, writeArtifact } from './release/artifacts.ts';
import { renderBillOfMaterials } from './release/bill-of-materials.ts';
import { renderKrewManifest } from './release/krew-manifest.ts';
import { platforms, runtimes } from './release/node-runtime.ts';
import { packageVersion } from './release/program-folder.ts';
import { renderProvenance, sha256 } from './release/provenance.ts';
import { argumentProblem, releaseProblems } from './release/readiness.ts';
import { sourceTime } from './release/source-time.ts';
import { versionedFiles } from './release/versions.ts';

const root = join(import.meta.dirname, '..');
const out = join(root, 'out');
const [version = '', url = ''] = process.argv.slice(2);

const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
const commit = () => git('rev-parse', 'HEAD').trim();
const text = (file: string) => readFileSync(join(root, file), 'utf8');

const wrong = argumentProblem(version, url);
if (wrong !== undefined) {
  console.error(
    `release: ${wrong}. Run "make release VERSION=1.2.3 URL=https://HOST/FOLDER", where URL is the folder in which you publish the files`,
  );
  process.exit(2);
}
const problems = releaseProblems(version, {
  packageVersion: packageVersion(),
  lockVersion: JSON.parse(text('package-lock.json')).version,
  versioned: new Map(versionedFiles.map((file) => [file, text(file)])),
  commit: commit(),
  taggedCommit:
    git(
      'for-each-ref',
      '--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)',
      `refs/tags/v${version}`,
    ).trim() || undefined,
  recordedStates: readdirSync(join(root, 'test/recorded')),
  changes: git('status', '--porcelain'),
  changelog: text('CHANGELOG.md'),
  dockerfile: text('Dockerfile'),
});
for (const problem of problems) console.error(`release: ${problem}`);
if (problems.length > 0) process.exit(1);

await makeRelease(url.replace(/\/+$/, ''));
console.log(nextSteps());

/** Writes the archives of a release, and the files that describe the archives. */
async function makeRelease(address: string): Promise<void> {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  const startedOn = new Date();
  const mtime = sourceTime();
  const runtimePackages = Object.values(runtimes);
  const archives = new Map<ArtifactKind, string>();
  await withProgram(mtime, async (program) => {
    for (const kind of artifactKinds) archives.set(kind, await writeArtifact(kind, program, out));
    write(`logfleet-${version}.cdx.json`, renderBillOfMaterials(program.packages, runtimePackages, mtime));
  });
  const tarballs = platforms.map((platform) => [platform, archives.get(platform) ?? ''] as const);
  write('logfleet.yaml', renderKrewManifest(new Map(tarballs), address));
  const build = { commit: commit(), command: `make release VERSION=${version} URL=${address}` };
  write(
    `logfleet-${version}.intoto.json`,
    renderProvenance(files(), { ...build, startedOn, runtimes: runtimePackages }),
  );
  write(
    'SHA256SUMS',
    files()
      .map((file) => `${sha256(file)}  ${basename(file)}\n`)
      .join(''),
  );
}

function files(): readonly string[] {
  return readdirSync(out)
    .sort()
    .map((name) => join(out, name));
}

function write(name: string, content: string): void {
  writeFileSync(join(out, name), content);
}

function nextSteps(): string {
  const tag = `v${version}`;
  const epoch = sourceTime().getTime() / 1000;
  return `The files of logfleet ${version} are in out/. Nothing is published yet. The remaining steps:

  git tag --sign ${tag} --message "logfleet ${version}" && git push origin ${tag}
  cosign sign-blob --bundle out/SHA256SUMS.sigstore.json out/SHA256SUMS
  upload all files of out/ to ${url}
  npm publish out/logfleet-${version}.tgz --access public${version.includes('-') ? ' --tag next' : ''}
  docker buildx build --platform linux/amd64,linux/arm64 --build-arg SOURCE_DATE_EPOCH=${epoch} \\
    --provenance=mode=max --sbom=true --tag REGISTRY/logfleet:${version} --push .
  helm push out/logfleet-${version}-chart.tgz oci://REGISTRY/charts
  propose out/logfleet.yaml to the krew index: https://krew.sigs.k8s.io/docs/developer-guide/release/`;
}
