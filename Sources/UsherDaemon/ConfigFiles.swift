import Glibc
import UsherConfig
import UsherCore

/// Finds and reads the configuration's files.
enum ConfigFiles {
  /// Far above any real configuration.
  private static let sizeLimit = 1 << 20

  /// - Parameter file: Nil for the place where it usually is; there it may be missing.
  ///
  /// - Throws: The first file that cannot be read; else every problem of them all.
  static func load(
    _ file: String?, environment: [String: String]
  ) throws(ConfigError) -> Config {
    let main = file ?? usualPlace(environment)
    var contents: [(path: String, bytes: [UInt8])] = []
    if let bytes = try read(main) {
      contents.append((main, bytes))
    } else if file != nil {
      throw ConfigError([problem(main, "there is no such file")])
    }
    for path in try overlays(beside: main) {
      if let bytes = try read(path) { contents.append((path, bytes)) }
    }
    return try Config.load(contents: contents)
  }

  /// The file that ``load(_:environment:)`` would begin with, where it is there: once it was, it may
  /// not be missing any more.
  static func found(_ file: String?, environment: [String: String]) -> String? {
    let main = file ?? usualPlace(environment)
    return access(main, F_OK) == 0 ? main : nil
  }

  private static func usualPlace(_ environment: [String: String]) -> String {
    if getuid() == 0 || environment["HOME"] == nil { return "/etc/usherd/usherd.toml" }
    let home = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { "\($0)/.config" } ?? ""
    let own = "\(home)/usherd/usherd.toml"
    return access(own, F_OK) == 0 ? own : "/etc/usherd/usherd.toml"
  }

  /// `conf.d/*.toml` beside the main file, in the order of their names.
  private static func overlays(beside main: String) throws(ConfigError) -> [String] {
    let parent = main.lastIndex(of: "/").map { String(main[..<$0]) } ?? "."
    guard let directory = opendir("\(parent)/conf.d") else {
      if errno == ENOENT { return [] }
      throw ConfigError([
        problem("\(parent)/conf.d", "cannot be read: \(String(cString: strerror(errno)))")
      ])
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted().map { "\(parent)/conf.d/\($0)" }
  }

  /// Nil where there is no such file. It waits for nobody: what is no file is not read.
  private static func read(_ path: String) throws(ConfigError) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw ConfigError([problem(path, "cannot be read: \(String(cString: strerror(errno)))")])
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw ConfigError([problem(path, "is not a regular file")])
    }
    var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count, off_t(count))
      }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else {
        throw ConfigError([problem(path, "cannot be read: \(String(cString: strerror(errno)))")])
      }
      if got == 0 { return Array(bytes.prefix(count)) }
      count += got
    }
    throw ConfigError([problem(path, "is larger than 1 MiB")])
  }

  private static func problem(_ path: String, _ message: String) -> ConfigProblem {
    ConfigProblem(file: path, line: 0, column: 0, key: "", message: message)
  }
}

/// The process's environment.
enum Environment {
  static func all() -> [String: String] {
    var variables: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let parts = String(cString: entry).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      next += 1
    }
    return variables
  }
}
