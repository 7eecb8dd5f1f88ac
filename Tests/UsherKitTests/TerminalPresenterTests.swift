import Glibc
import JSONRPC
import Synchronization
import Testing
import UsherTestKit

@testable import UsherKit

/// A dialog with a person who types these lines; after them the input has ended.
final class TypedDialog: TerminalDialog {
  private struct State {
    var lines: ArraySlice<String>
    var hidden: ArraySlice<String>
    var shown: [String] = []
  }

  private let state: Mutex<State>

  /// - Parameter hidden: The answers to questions whose answer does not appear.
  init(_ lines: [String] = [], hidden: [String] = [], canAsk: Bool = true) {
    self.canAsk = canAsk
    state = Mutex(State(lines: lines[...], hidden: hidden[...]))
  }

  /// All lines and questions.
  var shown: [String] { state.withLock { $0.shown } }

  let canAsk: Bool

  func settle() async {}

  func show(_ line: String) { state.withLock { $0.shown.append(line) } }

  func ask(_ question: String, isHidden: Bool) async -> String? {
    state.withLock { state in
      state.shown.append(question)
      return isHidden ? state.hidden.popFirst() : state.lines.popFirst()
    }
  }
}

@Suite("Freedom ID screens in a terminal", .timeLimit(.minutes(10)))
struct TerminalPresenterTests {
  /// Returns a presenter whose input is these lines, followed by the end of the input.
  private func person(_ lines: [String], hidden: [String] = []) -> TerminalPresenter {
    TerminalPresenter(TypedDialog(lines, hidden: hidden))
  }

  private func authorize(
    _ daemon: FreedomIDDaemon, _ presenter: TerminalPresenter
  ) async throws -> Result<GrantedProfile, FreedomIDError> {
    try await daemon.run { path in await freedomID(path).outcome(presenter) }
  }

  @Test("TerminalPresenter answers each Freedom ID screen with the typed line")
  func allScreens() async throws {
    let daemon = FreedomIDDaemon(
      .home,
      inputs: [
        .advances([.methods]), .advances([.phone]), .advances([.password]), .advances([.code()]),
        .advances([.code().with(problem: "too_early")]), .advances([.home]),
        .advances([.localAuth(["biometric"], isScanning: false)]), .advances([.passcode]),
        .advances([.permissions]), .advances([.authorized]),
      ])
    let presenter = person(
      ["3", "x", "7", "1", "+77011234567", "", "123456", "2", "perhaps", "yes"],
      hidden: ["p w", "2468"])
    #expect(try await authorize(daemon, presenter).firstname == "Aigerim")
    #expect(
      daemon.inputs == [
        ["type": "choose", "id": "other"], ["type": "choose", "id": "phoneOTP"],
        ["type": "fillForm", "fields": ["phone": "+77011234567"]],
        ["type": "enterPassword", "password": "p w"], ["type": "enterCode", "resend": true],
        ["type": "enterCode", "code": "123456"], ["type": "choose", "id": "acc_2"],
        ["type": "localAuth", "biometric": true], ["type": "localAuth", "passcode": "2468"],
        ["type": "consent", "granted": ["read.firstname", "read.phone", "read.emails"]],
      ])
  }

  @Test("TerminalPresenter denies the Freedom ID grants if the user types no")
  func denied() async throws {
    let daemon = FreedomIDDaemon(
      .permissions, inputs: [.advances([.failed("denied", "accessDenied")])])
    #expect(try await authorize(daemon, person(["no"])).error == .accessDenied)
    #expect(daemon.inputs == [["type": "consent", "denied": true]])
  }

  @Test(
    "TerminalPresenter cancels at any Freedom ID screen at the end of its input",
    arguments: [
      FreedomIDFlowSnapshot.methods, .phone, .password, .code(), .home, .passcode, .permissions,
    ])
  func endOfInput(snapshot: FreedomIDFlowSnapshot) async throws {
    let daemon = FreedomIDDaemon(snapshot)
    #expect(try await authorize(daemon, person([])).error == .userCanceled)
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }
}

@Suite("BSA's questions in a terminal")
struct TerminalPromptTests {
  private func answer(
    _ line: String?, isScanning: Bool = false, takesFinger: Bool = false,
    takesPasscode: Bool = true, problem: String? = nil,
    dialog: (TypedDialog) -> Void = { _ in }
  ) async -> BSA.LocalAuth.Answer {
    let typed = TypedDialog(hidden: line.map { [$0] } ?? [])
    let question = BSA.LocalAuth.Question(
      reason: "sign up", isScanning: isScanning, takesFinger: takesFinger,
      takesPasscode: takesPasscode, problem: problem)
    let answer = await TerminalPresenter(typed).answer(question)
    dialog(typed)
    return answer
  }

  @Test("a typed passcode is submitted, and the end of the input cancels")
  func passcode() async {
    #expect(await answer("2468") == .passcode("2468"))
    #expect(await answer("2468", isScanning: true) == .passcode("2468"))
    #expect(await answer(nil) == .cancel)
    #expect(await answer(nil, isScanning: true) == .cancel)
  }

  @Test("an empty line ends a scan for another method, and repeats the question for a passcode")
  func emptyLine() async {
    #expect(await answer("", isScanning: true, takesPasscode: false) == .fallback)
    var questions = 0
    let after = await answer("") { questions = $0.shown.count }
    #expect(after == .cancel && questions == 2)
    #expect(await answer("", takesFinger: true) == .scan)
  }

  @Test("the reader is started if only a finger is accepted, and no text is a passcode then")
  func finger() async {
    #expect(await answer("2468", takesFinger: true, takesPasscode: false) == .scan)
    var questions = 0
    let after = await answer("2468", isScanning: true, takesPasscode: false) {
      questions = $0.shown.count
    }
    #expect(after == .cancel && questions == 2)
  }

  @Test("the terminal shows reason and problem, without control characters")
  func shown() async {
    var shown: [String] = []
    _ = await answer("2468", problem: "wrong\u{1B}[2J passcode") { shown = $0.shown }
    #expect(shown == ["wrong\u{FFFD}[2J passcode", "sign up: passcode"])
  }
}

@Suite("The controlling terminal", .mayBlock, .timeLimit(.minutes(10)))
struct ControllingTerminalTests {
  /// A pseudoterminal, whose other side is the terminal under test.
  private final class Keyboard: Sendable {
    let file: CInt
    private let terminal: CInt

    init() throws {
      var (file, terminal): (CInt, CInt) = (-1, -1)
      guard openpty(&file, &terminal, nil, nil, nil) == 0 else {
        throw TestError("cannot open a pseudoterminal")
      }
      for end in [file, terminal] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      (self.file, self.terminal) = (file, terminal)
    }

    deinit {
      close(file)
      close(terminal)
    }

    var path: String { "/proc/self/fd/\(terminal)" }

    func type(_ text: String) { _ = text.withCString { write(file, $0, strlen($0)) } }

    /// Reads what is on the screen until it ends with a text.
    func waitUntilScreen(endsWith end: String) -> String {
      var screen = ""
      var bytes = [UInt8](repeating: 0, count: 4096)
      while !screen.hasSuffix(end) {
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { break }
        screen += String(decoding: bytes.prefix(count), as: UTF8.self)
      }
      return screen
    }

    /// Whether the terminal echoes what is typed.
    var echoes: Bool {
      var settings = termios()
      tcgetattr(file, &settings)
      return settings.c_lflag & tcflag_t(ECHO) != 0
    }
  }

  @Test("a typed line is read, hidden text is not echoed, and Ctrl-D ends one question")
  func asks() async throws {
    let keyboard = try Keyboard()
    let terminal = try #require(ControllingTerminal(path: keyboard.path))
    async let name = terminal.ask("name", isHidden: false)
    #expect(keyboard.waitUntilScreen(endsWith: "name: ") == "name: ")
    keyboard.type("Asha\n")
    #expect(await name == "Asha")
    async let secret = terminal.ask("passcode", isHidden: true)
    #expect(keyboard.waitUntilScreen(endsWith: "passcode: ").contains("Asha"))
    #expect(!keyboard.echoes)
    keyboard.type("2468\n")
    #expect(await secret == "2468")
    #expect(keyboard.echoes)
    async let nothing = terminal.ask("more", isHidden: false)
    #expect(!keyboard.waitUntilScreen(endsWith: "more: ").contains("2468"))
    keyboard.type("\u{04}")
    #expect(await nothing == nil)
    async let after = terminal.ask("again", isHidden: false)
    _ = keyboard.waitUntilScreen(endsWith: "again: ")
    keyboard.type("yes\n")
    #expect(await after == "yes")
  }

  @Test("a cancelled question ends, echoes again and discards what was typed for it")
  func cancelled() async throws {
    let keyboard = try Keyboard()
    let terminal = try #require(ControllingTerminal(path: keyboard.path))
    let question = Task { await terminal.ask("passcode", isHidden: true) }
    _ = keyboard.waitUntilScreen(endsWith: "passcode: ")
    keyboard.type("24")
    question.cancel()
    #expect(await question.value == nil)
    #expect(keyboard.echoes)
    async let name = terminal.ask("name", isHidden: false)
    _ = keyboard.waitUntilScreen(endsWith: "name: ")
    keyboard.type("Asha\n")
    #expect(await name == "Asha")
  }

  @Test("a screen that ends leaves the terminal with its echo on")
  func finished() async throws {
    let keyboard = try Keyboard()
    let terminal = try #require(ControllingTerminal(path: keyboard.path))
    let presenter = TerminalPresenter(terminal)
    let question = Task { await presenter.ask("passcode", isHidden: true) }
    _ = keyboard.waitUntilScreen(endsWith: "passcode: ")
    #expect(!keyboard.echoes)
    question.cancel()
    await presenter.finished()
    #expect(keyboard.echoes)
    #expect(await question.value == nil)
  }

  @Test("a screen that ends does not wait for the question of another flow")
  func otherQuestion() async throws {
    let keyboard = try Keyboard()
    let terminal = try #require(ControllingTerminal(path: keyboard.path))
    let presenter = TerminalPresenter(terminal)
    let question = Task { await presenter.ask("name") }
    _ = keyboard.waitUntilScreen(endsWith: "name: ")
    await presenter.finished()
    keyboard.type("Asha\n")
    #expect(await question.value == "Asha")
  }

  @Test("a process without a terminal has no dialog")
  func none() {
    #expect(ControllingTerminal(path: "/no/such/terminal") == nil)
  }
}
