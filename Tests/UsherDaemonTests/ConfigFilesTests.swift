import FoundationEssentials
import Glibc
import Testing
import UsherConfig
import UsherTestKit

@testable import UsherDaemon

@Suite("Configuration files", .timeLimit(.minutes(10)))
struct ConfigFilesTests {
  private static let nobody: UInt32 = 65534
  private let place: TemporaryDirectory

  init() throws {
    place = try TemporaryDirectory()
    try place.write("[limits]\nconnections = 99\n", to: "usherd.toml")
    #expect(chmod(place.file("usherd.toml"), 0o644) == 0)
  }

  private var main: String { place.file("usherd.toml") }

  private func load() throws -> Config { try ConfigFiles.load(main, environment: [:]) }

  private func refusal() -> String {
    do {
      _ = try load()
      return "it was read"
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "a daemon started by systemd does not read a configuration from its home directory",
    arguments: [["STATE_DIRECTORY": "/var/lib/usherd"], ["INVOCATION_ID": "0123"]])
  func home(_ service: [String: String]) async throws {
    let home = place.file("home")
    try FileManager.default.createDirectory(
      atPath: "\(home)/.config/usherd", withIntermediateDirectories: true)
    try place.write("[limits]\nconnections = 99\n", to: "home/.config/usherd/usherd.toml")
    for path in [place.path, home, "\(home)/.config", "\(home)/.config/usherd"] {
      #expect(chmod(path, 0o755) == 0)
    }
    let named = (service.first?.key ?? "", service.first?.value ?? "")
    await #expect(processExitsWith: .success) {
      [home = home as String, key = named.0 as String, value = named.1 as String] in
      if getuid() == 0 { try #require(setuid(65534) == 0) }
      let config = try ConfigFiles.load(nil, environment: ["HOME": home, key: value])
      #expect(config.limits.connections != 99)
    }
  }

  @Test("a configuration file writable by group or others is refused with the chmod command")
  func writable() throws {
    #expect(chmod(main, 0o646) == 0)
    #expect(refusal().contains("run: chmod o-w \(main)"))
    #expect(chmod(main, 0o664) == 0 && chown(main, getuid(), 4711) == 0)
    #expect(refusal().contains("run: chmod g-w \(main)"))
    // The group bits are also the mask of an access control list.
    #expect(chown(main, getuid(), 0) == 0)
    #expect(refusal().contains("run: chmod g-w \(main)"))
    #expect(chmod(main, 0o644) == 0)
    #expect(try load().limits.connections == 99)
  }

  @Test(
    "a configuration file not owned by root is refused",
    .enabled(if: getuid() == 0, "NOT TESTED: only root can give a file to another user"))
  func foreign() throws {
    #expect(chown(main, Self.nobody, 0) == 0)
    #expect(refusal().contains("run: chown root \(main)"))
  }

  @Test("a conf.d directory or file that others may write is refused with the chmod command")
  func overlays() throws {
    let folder = place.file("conf.d")
    #expect(mkdir(folder, 0o755) == 0 && chmod(folder, 0o757) == 0)
    #expect(refusal().contains("run: chmod o-w \(folder)"))
    #expect(chmod(folder, 0o755) == 0)
    try place.write("[limits]\nconnections = 98\n", to: "conf.d/50.toml")
    #expect(try load().limits.connections == 98)
    #expect(chmod("\(folder)/50.toml", 0o666) == 0)
    #expect(refusal().contains("run: chmod o-w \(folder)/50.toml"))
    #expect(chmod("\(folder)/50.toml", 0o644) == 0 && chmod(place.path, 0o757) == 0)
    #expect(refusal().contains("run: chmod o-w \(place.path)"))
  }

  @Test("a file in conf.d that cannot be opened is refused by name and not skipped")
  func overlayThatIsNotThere() throws {
    let folder = place.file("conf.d")
    #expect(mkdir(folder, 0o755) == 0 && symlink("/nonexistent", "\(folder)/90-deny.toml") == 0)
    #expect(refusal().contains("\(folder)/90-deny.toml"))
    #expect(unlink("\(folder)/90-deny.toml") == 0)
    #expect(try load().limits.connections == 99)
    // A name that is not UTF-8.
    let name = Array("\(folder)/90-".utf8CString.dropLast()) + [-1] + Array(".toml".utf8CString)
    let file = open(name, O_WRONLY | O_CREAT, 0o644)
    #expect(file >= 0 && close(file) == 0)
    #expect(refusal().contains("\(folder)/90-"))
    #expect(unlink(name) == 0)
  }

  @Test("a configuration of 1 MiB is read completely, and a longer one is refused")
  func longest() throws {
    let setting = "[limits]\nconnections = 97\n"
    let comment = String(repeating: "#", count: (1 << 20) - setting.utf8.count - 1) + "\n"
    try place.write(comment + setting, to: "usherd.toml")
    #expect(try load().limits.connections == 97)
    try place.write(comment + setting + "#", to: "usherd.toml")
    #expect(refusal().contains("is larger than 1 MiB"))
  }
}
