import Glibc

/// The browser of the desktop, by `xdg-open`.
package struct DesktopBrowser: Browser {
  /// glibc's POSIX_SPAWN_SETSID, a macro that Swift does not see.
  private static let newSession: Int16 = 0x80

  private let environment: [String: String]

  package init(environment: [String: String]) { self.environment = environment }

  package func open(_ url: String) -> Bool {
    let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    guard hasScreen, url.hasPrefix("https://") || url.hasPrefix("http://") else { return false }
    return start(["xdg-open", url])
  }

  /// Starts a program in a session of its own, so that Ctrl-C here does not close the browser.
  private func start(_ arguments: [String]) -> Bool {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    for file in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_RDWR, 0)
    }
    posix_spawnattr_setflags(&attributes, Self.newSession)
    var strings = arguments.map { strdup($0) } + [nil]
    defer { for string in strings { free(string) } }
    var process = pid_t()
    return posix_spawnp(&process, arguments[0], &actions, &attributes, &strings, environ) == 0
  }
}
