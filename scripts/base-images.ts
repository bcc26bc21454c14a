/** `make base-images`: updates the digests of the base images in the Dockerfile to the newest images. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseImages, newestDigest, withDigests } from './release/base-images.ts';

const file = join(import.meta.dirname, '../Dockerfile');
const dockerfile = readFileSync(file, 'utf8');
const digests = new Map<string, string>();
for (const { name, digest } of baseImages(dockerfile)) {
  const newest = await newestDigest(name);
  digests.set(name, newest);
  console.log(`${name}: ${newest === digest ? 'unchanged' : newest}`);
}
writeFileSync(file, withDigests(dockerfile, digests));
