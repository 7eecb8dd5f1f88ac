import Testing

@testable import UsherSystem

@Suite("systemd unit of a control group")
struct ControlGroupTests {
  @Test(
    "a control group below the system's slices yields its systemd unit",
    arguments: [
      ("/system.slice/till.service", "till.service"),
      ("/system.slice/till.service/worker/1", "till.service"),
      ("/system.slice/system-till.slice/till@2.service", "till@2.service"),
      ("/shop.slice/shop-front.slice/shop-front-north.slice/till.service", "till.service"),
      ("/till.service", "till.service"),
      ("/init.scope", "init.scope"),
      ("/machine.slice/libpod-1.scope/container/system.slice/till.service", "libpod-1.scope"),
      ("/system.slice/_cpu.service", "cpu.service"),
      (#"/system.slice/a\x2db.service"#, #"a\x2db.service"#),
    ])
  func found(path: String, unit: String) {
    #expect(ControlGroup.systemUnit(path: path[...]) == unit)
  }

  @Test(
    "a control group below user.slice yields no unit",
    arguments: [
      "/user.slice/user-1000.slice/user@1000.service/app.slice/till.service",
      "/user.slice/user-1000.slice/user@1000.service/till.service",
      "/user.slice/user-1000.slice/session-3.scope",
      "/user.slice/till.service",
    ])
  func users(path: String) {
    #expect(ControlGroup.systemUnit(path: path[...]) == nil)
  }

  @Test(
    "a control group path that systemd would not create yields no unit",
    arguments: [
      "/", "", "till.service", "/docker/abc/system.slice/till.service", "/system.slice",
      "/system.slice/", "/system.slice//till.service", "/system.slice/../till.service",
      "/../system.slice/till.service", "/system.slice/user-1000.slice/till.service",
      "/user-1000.slice/till.service", "/.slice/till.service", "/-.slice/till.service",
      "/system.slice/.service", "/system.slice/till.service (deleted)",
      "/system.slice/till service.service", "/system.slice/tïll.service",
      "/system.slice/system-.slice/till.service", "/system.slice/till.mount",
    ])
  func unbelievable(path: String) {
    #expect(ControlGroup.systemUnit(path: path[...]) == nil)
  }

  @Test("the control group of a process is read from the unified hierarchy only")
  func hierarchies() {
    let text = """
      4:memory:/system.slice/evil.service
      1:name=systemd:/system.slice/evil.service
      0::/system.slice/till.service
      """
    #expect(ControlGroup.path(in: text) == "/system.slice/till.service")
    #expect(ControlGroup.path(in: "1:name=systemd:/system.slice/evil.service\n") == nil)
    #expect(ControlGroup.path(in: "") == nil)
  }
}
