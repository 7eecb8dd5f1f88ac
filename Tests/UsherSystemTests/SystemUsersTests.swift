import Testing

@testable import UsherSystem

@Suite("Users, groups and directories")
struct SystemUsersTests {
  @Test("root is 0 in both lists, and back")
  func root() {
    #expect(SystemUsers.groupID(named: "root") == 0)
    #expect(SystemUsers.userID(named: "root") == 0)
    #expect(SystemUsers.userName(of: 0) == "root")
    #expect(SystemUsers.groupIDs(of: 0).first == 0)
  }

  @Test("who does not exist is nil")
  func nobody() {
    #expect(SystemUsers.groupID(named: "no-such-group") == nil)
    #expect(SystemUsers.userID(named: "no-such-user") == nil)
    #expect(SystemUsers.userName(of: 4_000_000_001) == nil)
    #expect(SystemUsers.groupIDs(of: 4_000_000_001) == [])
  }
}

@Suite("Where the daemon keeps things")
struct DirectoriesTests {
  @Test("systemd's variables come first, and of several the first")
  func systemd() {
    let environment = [
      "STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "RUNTIME_DIRECTORY": "/run/a",
      "XDG_STATE_HOME": "/x",
    ]
    let expected = Directories(state: "/var/lib/a", runtime: "/run/a")
    #expect(Directories.defaults(environment: environment, uid: 0) == expected)
    #expect(Directories.defaults(environment: environment, uid: 1000) == expected)
  }

  @Test("root's are the machine's, whatever his XDG variables say")
  func root() {
    let environment = ["HOME": "/root", "XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/y"]
    #expect(
      Directories.defaults(environment: environment, uid: 0)
        == Directories(state: "/var/lib/usherd", runtime: "/run/usherd"))
  }

  @Test("a user's are his XDG directories")
  func user() {
    let environment = ["XDG_STATE_HOME": "/h/state", "XDG_RUNTIME_DIR": "/run/user/7/"]
    #expect(
      Directories.defaults(environment: environment, uid: 7)
        == Directories(state: "/h/state/usherd", runtime: "/run/user/7/usherd"))
  }

  @Test("without them, or with relative ones, the specification's defaults")
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
