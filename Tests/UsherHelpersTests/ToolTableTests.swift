import Testing
import UsherHelpers

@Suite("Names of the helpers")
struct ToolTableTests {
  private func find(_ commandLine: String...) -> String? {
    Tool.find(commandLine).map { "\($0.tool.name) \($0.arguments.joined(separator: " "))" }
  }

  @Test("a link and the first argument name the same contract")
  func names() {
    #expect(find("/usr/bin/git-credential-usher", "get") == "git get")
    #expect(find("usher-helper", "git", "get") == "git get")
    #expect(find("usher-helper", "git-credential-usher", "get") == "git get")
    #expect(find("docker-credential-usher") == "docker ")
    #expect(find("/usr/lib/usher-helper/keyring", "get", "s") == "keyring get s")
  }

  @Test("a path or a tool's own name names no contract")
  func others() {
    #expect(find() == nil)
    #expect(find("usher-helper") == nil)
    #expect(find("usher-helper", "aws") == nil)
    #expect(find("usher-helper", "/usr/bin/git-credential-usher") == nil)
    #expect(find("/usr/bin/git", "get") == nil)
    #expect(find("usher-helper", "x", "git") == nil)
  }

  @Test("names and links are unique, and the help lists them")
  func usage() {
    let names = Tool.all.map(\.name) + Tool.all.compactMap(\.link).filter { $0 != "keyring" }
    #expect(Set(names).count == names.count)
    for name in names { #expect(Tool.usage.contains(name)) }
  }

  @Test("a helper finds the socket in the same order as usherctl")
  func socket() {
    let path = { (explicit: String?, runtime: String?, isRoot: Bool, exists: Bool) in
      DaemonSocket.path(
        explicitPath: explicit, runtimeDirectory: runtime, isRoot: isRoot, systemExists: exists)
    }
    #expect(path("/x", "/r", true, true) == "/x")
    #expect(path("", "/r", true, false) == "/run/usherd/usherd.sock")
    #expect(path(nil, "/r", false, true) == "/run/usherd/usherd.sock")
    #expect(path(nil, "/r", false, false) == "/r/usherd/usherd.sock")
    #expect(path(nil, "", false, false) == "/run/usherd/usherd.sock")
  }
}
