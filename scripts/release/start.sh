#!/bin/sh
# Starts logfleet with the Node of this folder. Follows symbolic links to this script, such as those of krew.
file=$0
case $file in */*) ;; *) file=./$file ;; esac
while [ -L "$file" ]; do
  target=$(command -p readlink "$file")
  case $target in
    /*) file=$target ;;
    *) file=${file%/*}/$target ;;
  esac
done
folder=$(CDPATH='' cd -P -- "${file%/*}/.." && pwd -P) || exit 1
exec "$folder/runtime/node" "$folder/dist/main.js" "$@"
