import Testing

@testable import UsherSystem

@Suite("Users and groups of the system")
struct SystemUsersTests {
  @Test("the user and the group root are found by name and by id 0")
  func root() throws {
    #expect(SystemUsers.groupID(named: "root") == 0)
    #expect(try SystemUsers.userID(named: "root") == 0)
    #expect(SystemUsers.user(of: 0) == .named("root"))
    #expect(SystemUsers.groupIDs(of: 0).first == 0)
  }

  @Test("an unknown user or group is nil, and an unknown uid has no groups")
  func nobody() throws {
    #expect(SystemUsers.groupID(named: "no-such-group") == nil)
    #expect(try SystemUsers.userID(named: "no-such-user") == nil)
    #expect(SystemUsers.user(of: 4_000_000_001) == .nameless)
    #expect(SystemUsers.groupIDs(of: 4_000_000_001) == [])
  }
}

@Suite("Directories of the daemon")
struct DirectoriesTests {
  @Test("the first directory in systemd's variables is used before XDG and default paths")
  func systemd() {
    let environment = [
      "STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "RUNTIME_DIRECTORY": "/run/a",
      "XDG_STATE_HOME": "/x",
    ]
    let expected = Directories(state: "/var/lib/a", runtime: "/run/a")
    #expect(Directories.defaults(environment: environment, uid: 0) == expected)
    #expect(Directories.defaults(environment: environment, uid: 1000) == expected)
  }

  @Test("root uses /var/lib/usherd and /run/usherd, whatever its XDG variables say")
  func root() {
    let environment = ["HOME": "/root", "XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/y"]
    #expect(
      Directories.defaults(environment: environment, uid: 0)
        == Directories(state: "/var/lib/usherd", runtime: "/run/usherd"))
  }

  @Test("a user other than root uses the XDG directories")
  func user() {
    let environment = ["XDG_STATE_HOME": "/h/state", "XDG_RUNTIME_DIR": "/run/user/7/"]
    #expect(
      Directories.defaults(environment: environment, uid: 7)
        == Directories(state: "/h/state/usherd", runtime: "/run/user/7/usherd"))
  }

  @Test("without XDG variables, or with relative ones, the XDG defaults are used")
  func fallbacks() {
    let expected = Directories(
      state: "/home/u/.local/state/usherd", runtime: "/run/user/7/usherd")
    #expect(Directories.defaults(environment: ["HOME": "/home/u"], uid: 7) == expected)
    let relative = [
      "HOME": "/home/u", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "", "STATE_DIRECTORY": "",
    ]
    #expect(Directories.defaults(environment: relative, uid: 7) == expected)
  }
}
