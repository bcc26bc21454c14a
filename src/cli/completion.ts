/** `logfleet completion SHELL`: prints a script that lets a shell complete commands, flags and fixed values. */
import type { Command, Option } from 'commander';
import { kindNames, kinds } from '../api/kinds.ts';
import { type CommandContext, exitStatus } from './command/context.ts';

const renderers = { bash: renderBash, zsh: renderZsh, fish: renderFish };

export type Shell = keyof typeof renderers;

export async function completionCommand(program: Command, shell: Shell, { stdout }: CommandContext): Promise<number> {
  stdout.write(renderers[shell](commandsOf(program)));
  return exitStatus.ok;
}

interface Flag {
  /** Names of the flag, such as `-o` and `--output`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** Values that the flag accepts. Empty if the flag accepts any value. */
  readonly values: readonly string[];
}

interface Subcommand {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly Flag[];
  /** Completions for the first argument. If there are none, the shell completes file names. */
  readonly words: readonly string[];
}

function commandsOf(program: Command): readonly Subcommand[] {
  const help = program.createHelp();
  return help.visibleCommands(program).map((command) => ({
    name: command.name(),
    description: firstSentence(command.description()),
    flags: help.visibleOptions(command).map(flagOf),
    words: command.name() === 'help' ? program.commands.map((each) => each.name()) : wordsOf(command),
  }));
}

function flagOf({ short, long, description, required, optional, argChoices = [] }: Option): Flag {
  return {
    names: [short, long].filter((name) => name !== undefined),
    description: firstSentence(description),
    takesValue: required || optional,
    values: argChoices,
  };
}

function wordsOf(command: Command): readonly string[] {
  const [argument] = command.registeredArguments;
  if (argument?.argChoices) return argument.argChoices;
  return argument?.name() === 'KIND' ? kindNames.map((kind) => kinds[kind].shortName) : [];
}

/** Returns the first sentence of a help text, without the full stop and the note about the default. */
function firstSentence(text: string): string {
  const sentence = /^.*?[.:](?=\s|$)/.exec(text)?.[0].slice(0, -1) ?? text;
  return sentence.replace(/ \(default$/, '');
}

/**
 * Quotes a string for bash, zsh and fish. Replaces apostrophes with typographic apostrophes, because each shell escapes
 * apostrophes differently.
 */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}

function renderBash(commands: readonly Subcommand[]): string {
  return `# bash completion for logfleet
_logfleet() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local words= flags= valued= arguments= count=0 i
  # Bash splits --flag=value into three words.
  if [ "$cur" = = ]; then
    cur=
  elif [ "$prev" = = ]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$command" in
${commands.map(bashCommand).join('\n')}
  esac
  for ((i = 2; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      -*)
        if [ "\${COMP_WORDS[i + 1]}" = = ]; then
          ((i += 2))
        elif [[ " $valued " == *" \${COMP_WORDS[i]} "* ]]; then
          ((i += 1))
        fi
        ;;
      *) ((count += 1)) ;;
    esac
  done
  case "$command $prev" in
${commands.flatMap(bashFlagValues).join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=${quoted(`${commands.map(({ name }) => name).join(' ')} --help --version`)}
  elif [ -z "$words" ] && [[ " $valued " != *" $prev "* ]]; then
    if [ "\${cur#-}" != "$cur" ]; then
      words=$flags
    elif [ "$count" -eq 0 ]; then
      words=$arguments
    fi
  fi
  # Without a match, bash completes names of files.
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  case "\${COMPREPLY[*]}" in */) compopt -o nospace ;; esac
}
complete -o bashdefault -o default -F _logfleet logfleet
`;
}

/**
 * Renders the branch for one command in a `case` statement of the bash script. The branch sets the lists of the
 * command's flags and arguments.
 */
function bashCommand({ name, flags, words }: Subcommand): string {
  const valued = flags.filter(({ takesValue }) => takesValue);
  const lists = { flags: namesOf(flags), valued: namesOf(valued), arguments: words.join(' ') };
  return `    ${name}) ${Object.entries(lists)
    .map(([variable, list]) => `${variable}=${quoted(list)}`)
    .join(' ')} ;;`;
}

/**
 * Renders a branch of a bash `case` statement for each flag that accepts only fixed values. The branch sets the list of
 * these values.
 */
function bashFlagValues({ name, flags }: Subcommand): readonly string[] {
  return flags
    .filter((flag) => flag.values.length > 0)
    .map((flag) => {
      const patterns = flag.names.map((each) => quoted(`${name} ${each}`)).join(' | ');
      return `    ${patterns}) words=${quoted(flag.values.join(' '))} ;;`;
    });
}

function namesOf(flags: readonly Flag[]): string {
  return flags.flatMap(({ names }) => names).join(' ');
}

function renderZsh(commands: readonly Subcommand[]): string {
  const names = commands.map(({ name, description }) => `    ${quoted(`${name}:${plain(description)}`)}`);
  const cases = commands.map(({ name, flags, words }) => {
    const specs = [...flags.map(zshFlag), words.length > 0 ? zshWords(words) : quoted('*:file:_files')];
    return `    ${name})\n      _arguments -s \\\n        ${specs.join(' \\\n        ')}\n      ;;`;
  });
  return `#compdef logfleet
# zsh completion for logfleet
_logfleet() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _logfleet ]; then _logfleet "$@"; else compdef _logfleet logfleet; fi
`;
}

function zshFlag({ names, description, takesValue, values }: Flag): string {
  const action = values.length > 0 ? `(${values.join(' ')})` : '_files';
  const value = takesValue ? `:value:${action}` : '';
  // With `=`, zsh also completes `--flag=value`.
  const spelling = (name: string) => (takesValue && name.startsWith('--') ? `${name}=` : name);
  return names.map((name) => quoted(`*${spelling(name)}[${plain(description)}]${value}`)).join(' ');
}

/** Returns the zsh specification that completes the first argument of a command with the given words. */
function zshWords(words: readonly string[]): string {
  const isPrefix = words.every((word) => word.endsWith('/'));
  return quoted(isPrefix ? `1:argument:compadd -S "" -- ${words.join(' ')}` : `1:argument:(${words.join(' ')})`);
}

/** Removes characters with a special meaning in zsh's completion specifications. */
function plain(description: string): string {
  return description.replaceAll(/[[\]\\]/g, '').replaceAll(':', ',');
}

function renderFish(commands: readonly Subcommand[]): string {
  const when = (condition: string) => `complete -c logfleet -n ${quoted(condition)}`;
  const seen = (words: readonly string[]) => `__fish_seen_subcommand_from ${words.join(' ')}`;
  const beforeCommand = when(`not ${seen(commands.map(({ name }) => name))}`);
  const lines = commands.flatMap(({ name, description, flags, words }) => {
    const afterCommand = when(seen([name]));
    return [
      `${beforeCommand} -f -a ${name} -d ${quoted(description)}`,
      ...flags.map((flag) => `${afterCommand} ${fishFlag(flag)}`),
      ...(words.length > 0
        ? [`${afterCommand} -f`, `${when(`${seen([name])}; and not ${seen(words)}`)} -a ${quoted(words.join(' '))}`]
        : []),
    ];
  });
  const root = ['-s h -l help', '-s V -l version'].map((flag) => `${beforeCommand} ${flag}`);
  return `# fish completion for logfleet\n${[...root, ...lines].join('\n')}\n`;
}

function fishFlag({ names, description, takesValue, values }: Flag): string {
  const spellings = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = values.length > 0 ? [`-x -a ${quoted(values.join(' '))}`] : takesValue ? ['-r'] : [];
  return [...spellings, ...value, `-d ${quoted(description)}`].join(' ');
}
