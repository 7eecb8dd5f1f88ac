import FoundationEssentials
import Testing
import UsherCommands
import UsherTestKit

@Suite("usherctl config")
struct ConfigTests {
  private func folder(_ files: [String: String]) throws -> String {
    let root = FakeDaemon.freshPath()
    for (name, text) in files {
      let file = URL(filePath: root).appending(path: name)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    return root
  }

  private static let provider = """
    [[provider]]
    name = "work"
    type = "oidc"
    issuer = "https://id.example.com"
    client_id = "usher"

    """

  @Test("usherctl config check reads usherd.toml and conf.d by default")
  func standard() async throws {
    let folder = try folder([
      "usherd.toml": Self.provider,
      "conf.d/10-shop.toml": Self.provider.replacing("work", with: "shop"),
      "conf.d/README": "not TOML",
    ])
    defer { FakeDaemon.removeFolder(of: folder) }
    let outcome = await usherctl("config check", configFolder: folder)
    #expect(outcome.output == "ok: 2 providers, 0 client rules\n")
    #expect(outcome.status == 0)
  }

  @Test("usherctl config check reports the file, line and key of an error")
  func wrong() async throws {
    let folder = try folder(["a.toml": Self.provider + "client_idd = \"x\"\n"])
    defer { FakeDaemon.removeFolder(of: folder) }
    let outcome = await usherctl("config check \(folder)/a.toml")
    #expect(outcome.error.hasPrefix("usherctl: \(folder)/a.toml:6:1: provider[0].client_idd: "))
    #expect(outcome.status == 1)
  }

  @Test(
    "usherctl config check reports files and directories that others may write, with the remedy")
  func trust() async throws {
    let folder = try folder(["a.toml": Self.provider, "conf.d/b.toml": ""])
    defer { FakeDaemon.removeFolder(of: folder) }
    let file = "\(folder)/a.toml"
    #expect(await usherctl("config check \(file)").status == 0)
    for (mode, who, remedy) in [
      (0o664, "can write it", "chmod g-w"), (0o646, "every user can write it", "chmod o-w"),
    ] {
      for path in [file, folder, "\(folder)/conf.d"] {
        let before = path == file ? 0o644 : 0o755
        let bits = path == file ? mode : mode | 0o111
        try FileManager.default.setAttributes([.posixPermissions: bits], ofItemAtPath: path)
        let outcome = await usherctl("config check \(file)")
        #expect(outcome.error.hasPrefix("usherctl: \(path): "))
        #expect(outcome.error.contains(who) && outcome.error.contains("run: \(remedy) \(path)"))
        #expect(outcome.status == 1)
        try FileManager.default.setAttributes([.posixPermissions: before], ofItemAtPath: path)
      }
    }
    #expect(await usherctl("config check \(file) \(folder)/conf.d/b.toml").status == 0)
  }

  @Test("usherctl config check reports a missing configuration and a missing file")
  func nothing() async {
    let none = await usherctl("config check")
    #expect(none.error == "usherctl: no configuration file in /tmp/usher-no-such-folder\n")
    #expect(none.status == 1)
    let missing = await usherctl("config check /tmp/usher-no-such-file")
    #expect(missing.error == "usherctl: /tmp/usher-no-such-file cannot be read\n")
  }

  @Test("usherctl config show prints the effective configuration as TOML and as JSON")
  func show() async throws {
    let folder = try folder(["usherd.toml": Self.provider])
    defer { FakeDaemon.removeFolder(of: folder) }
    let toml = await usherctl("config show", configFolder: folder)
    #expect(toml.output.contains("issuer = \"https://id.example.com\"\n"))
    #expect(toml.output.contains("deadline_seconds = 600\n"))
    let json = await usherctl("config show --json", configFolder: folder)
    #expect(json.output.contains(#""issuer":"https://id.example.com""#))
    #expect(json.output.filter { $0 == "\n" }.count == 1)
  }
}
