// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/completion.h"

#include <algorithm>
#include <utility>

namespace corehold {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

const CommandOption* find_option(const CommandTree& command, std::string_view name) {
  const auto found = std::find_if(
      command.options.begin(), command.options.end(), [&](const CommandOption& option) {
        return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
      });
  return found == command.options.end() ? nullptr : &*found;
}

bool has_name(const CommandOption& option, std::string_view name) {
  return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
}

NextWord next_of(const CommandTree& command, const CommandOption& option) {
  if (option.value == "FILE") return NextWord::kFile;
  if (option.value == "DIR") return NextWord::kDirectory;
  if (option.value == "NAMESPACE") return NextWord::kNamespace;
  if (has_name(option, "--container")) return NextWord::kContainer;
  if (option.value == "POD") return NextWord::kPod;
  const bool is_node = has_name(option, "NAME") && command.name.starts_with("node");
  return is_node ? NextWord::kNode : NextWord::kNothing;
}

// Walks the words of a line.
class Line {
 public:
  explicit Line(const CommandTree& root) : command_(&root) {}

  // A word before the one to complete.
  void pass(const std::string& word) {
    if (waiting_ != nullptr) {
      if (word == "=") return;
      note(*std::exchange(waiting_, nullptr), word);
      return;
    }
    const CommandTree* inner = only_arguments_ ? nullptr : command_->find(word);
    if (!only_arguments_ && word == "--") {
      only_arguments_ = true;
    } else if (!only_arguments_ && is_option(word)) {
      pass_option(word);
    } else if (inner != nullptr) {
      command_ = inner;
      done_.arguments.clear();
    } else {
      done_.arguments.push_back(word);
    }
  }

  Completion last(std::string word) && {
    const std::size_t equals = word.find('=');
    if (waiting_ != nullptr) {
      offer_values(*waiting_, word == "=" ? "" : word);
    } else if (only_arguments_) {
      offer_argument(std::move(word));
    } else if (is_option(word) && equals != std::string::npos) {
      const CommandOption* option = find_option(*command_, word.substr(0, equals));
      if (option != nullptr) offer_values(*option, word.substr(equals + 1));
    } else if (!word.empty() && word.front() == '-') {
      offer_options(std::move(word));
    } else {
      offer_commands(word);
      offer_argument(std::move(word));
    }
    return std::move(done_);
  }

 private:
  void pass_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const CommandOption* option = find_option(*command_, word.substr(0, equals));
    if (option == nullptr || option->value.empty()) return;
    if (equals == std::string::npos) {
      waiting_ = option;
    } else {
      note(*option, word.substr(equals + 1));
    }
  }

  void note(const CommandOption& option, const std::string& value) {
    if (has_name(option, "--root")) done_.root = value;
    if (has_name(option, "--server")) done_.server = value;
    if (has_name(option, "--kubeconfig")) done_.kubeconfig = value;
    if (has_name(option, "--namespace")) done_.namespace_name = value;
  }

  void offer(const std::string& text, const std::string& about) {
    if (text.starts_with(done_.prefix)) done_.candidates.push_back({.text = text, .about = about});
  }

  void offer_values(const CommandOption& option, std::string prefix) {
    done_.prefix = std::move(prefix);
    for (const std::string& choice : option.choices) offer(choice, "");
    if (option.choices.empty()) done_.next = next_of(*command_, option);
  }

  void offer_options(std::string prefix) {
    done_.prefix = std::move(prefix);
    for (const CommandOption& option : command_->options) {
      for (const std::string& name : option.names) offer(name, option.about);
    }
  }

  void offer_commands(const std::string& prefix) {
    done_.prefix = prefix;
    if (!done_.arguments.empty()) return;
    for (const CommandTree& command : command_->commands) offer(command.name, command.about);
  }

  void offer_argument(std::string prefix) {
    const std::size_t given = done_.arguments.size();
    if (command_->arguments.empty()) return;
    const CommandOption& argument =
        command_->arguments[std::min(given, command_->arguments.size() - 1)];
    if (given >= command_->arguments.size() && !argument.is_repeated) return;
    offer_values(argument, std::move(prefix));
    // The command that is to be run, and what it takes.
    if (argument.names.front().starts_with("COMMAND")) done_.next = NextWord::kFile;
  }

  const CommandTree* command_;
  const CommandOption* waiting_ = nullptr;  // for its value
  bool only_arguments_ = false;
  Completion done_{};
};

constexpr std::string_view kBash =
    R"(# bash completion for corehold: source <(corehold completion bash)
_corehold() {
    local program=${COMP_WORDS[0]/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]} line
    local -a lines
    [[ $current == "=" ]] && current=
    COMPREPLY=()
    mapfile -t lines < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    for line in "${lines[@]}"; do
        case $line in
            :files | :directories)
                compopt -o filenames 2>/dev/null
                local action=file
                [[ $line == :directories ]] && action=directory
                local -a found
                mapfile -t found < <(compgen -A "$action" -- "$current")
                COMPREPLY+=("${found[@]}")
                ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done
}
complete -F _corehold corehold
)";

constexpr std::string_view kZsh = R"(#compdef corehold
# zsh completion for corehold: in a directory of $fpath as _corehold, or
# source <(corehold completion zsh)
_corehold() {
    local line
    local -a lines found
    lines=("${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${lines[@]}"; do
        case $line in
            '') ;;
            :files) _files ;;
            :directories) _files -/ ;;
            *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
            *) found+=("${line//:/\\:}") ;;
        esac
    done
    (( $#found )) && _describe -t words corehold found
}
if [ "${funcstack[1]}" = _corehold ]; then
    _corehold "$@"
else
    compdef _corehold corehold
fi
)";

constexpr std::string_view kFish =
    R"(# fish completion for corehold: corehold completion fish | source
function __corehold_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':directories'
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c corehold -f -a '(__corehold_complete)'
)";

}  // namespace

Completion complete(const CommandTree& root, std::span<const std::string> words) {
  Line line(root);
  if (words.empty()) return std::move(line).last("");
  for (const std::string& word : words.first(words.size() - 1)) line.pass(word);
  return std::move(line).last(words.back());
}

std::optional<std::string_view> completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return std::nullopt;
}

}  // namespace corehold
