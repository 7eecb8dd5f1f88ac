public import FoundationEssentials
import UsherClient

/// Shows the screens of every SDK in the terminal from which the program was started.
///
/// An app that has no screens of its own passes ``ofProcess`` where the SDKs take a view
/// controller. The person reads and types at the controlling terminal (`/dev/tty`), so the
/// program's standard input and output stay its own. Typed passwords and passcodes do not appear.
/// The end of the input (Ctrl-D) cancels. A process in the background is not asked: BSA then acts
/// as without a prompt, and a screen of Freedom ID is cancelled.
public final class TerminalPresenter: Sendable {
  /// The presenter for the terminal of this process; nil if the process has none, such as a system
  /// service.
  public static let ofProcess = ControllingTerminal().map { TerminalPresenter($0) }

  let dialog: any TerminalDialog

  init(_ dialog: any TerminalDialog) { self.dialog = dialog }

  var canAsk: Bool { dialog.canAsk }

  /// Shows a line, in which a provider's text cannot move the cursor.
  func show(_ line: String) { dialog.show(line.printable) }

  /// Returns the typed line; nil at the end of the input.
  func ask(_ question: String, isHidden: Bool = false) async -> String? {
    await dialog.ask(question.printable, isHidden: isHidden)
  }

  /// Shows a numbered list and returns the index of the chosen label; nil at the end of the input.
  func pick(_ labels: [String]) async -> Int? {
    for (index, label) in labels.enumerated() { show("\(index + 1) \(label)") }
    while let line = await ask("number") {
      if let number = Int(line), labels.indices.contains(number - 1) { return number - 1 }
    }
    return nil
  }
}

// MARK: - Pages of Paysafe and GoPay

extension TerminalPresenter: Presenter {
  /// Shows the address of the page, which the person opens in a browser.
  public func present(_ url: URL) {
    show("open this page in a browser: \(url.absoluteString)")
  }
}

// MARK: - Local authentication of BSA

extension TerminalPresenter: BSA.LocalAuth.Prompt {
  public func answer(_ question: BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer {
    if let problem = question.problem { show(problem) }
    guard question.isScanning || question.takesPasscode else { return .scan }
    var ways: [String] = []
    if question.isScanning { ways.append("touch the fingerprint reader") }
    if question.takesPasscode { ways.append("passcode") }
    if question.isScanning {
      ways.append("Enter for another method")
    } else if question.takesFinger {
      ways.append("Enter for the fingerprint reader")
    }
    let text = "\(question.reason): \(ways.joined(separator: ", or "))"
    while let line = await ask(text, isHidden: true) {
      if !line.isEmpty, question.takesPasscode { return .passcode(line) }
      if line.isEmpty, question.isScanning { return .fallback }
      if line.isEmpty, question.takesFinger { return .scan }
    }
    return .cancel
  }

  /// Waits until the terminal shows again what is typed.
  public func finished() async { await dialog.settle() }
}

// MARK: - Screens of Freedom ID

extension TerminalPresenter: FreedomIDPresenter {
  public func answer(
    _ screen: FreedomIDScreen, problem: FreedomIDProblem?
  ) async -> FreedomIDAnswer {
    if let problem { show(problem.message) }
    switch screen {
    case .waiting(let screen):
      show("waiting for \(screen.reason)")
      return .stay
    case .loginMethod(let screen):
      guard let number = await pick(screen.methods.map(\.label)) else { return .cancel }
      return screen.choose(screen.methods[number])
    case .form(let screen): return await fill(screen)
    case .password(let screen):
      return await ask("password", isHidden: true).map { screen.enter($0) } ?? .cancel
    case .code(let screen):
      let line = await ask("code sent to \(screen.maskedTarget), or Enter to send it again")
      return line.map { $0.isEmpty ? screen.resend() : screen.enter($0) } ?? .cancel
    case .home(let screen):
      let another = screen.allowsAnother ? ["another account"] : []
      guard let number = await pick(screen.accounts.map(\.label) + another) else { return .cancel }
      guard screen.accounts.indices.contains(number) else { return screen.signInWithAnother() }
      return screen.choose(screen.accounts[number])
    case .fingerprint(let screen): return await answer(screen)
    case .passcode(let screen):
      let line = await ask("\(screen.reason): passcode", isHidden: true)
      return line.map { screen.enter($0) } ?? .cancel
    case .permissions(let screen): return await answer(screen)
    }
  }

  public func answer(_ page: FreedomIDPage, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
    if let problem { show(problem.message) }
    present(page.url)
    if page.noticesReturn { return .stay }
    while let line = await ask("the address to which the browser returned") {
      if let url = URL(string: line) { return page.returned(to: url) }
    }
    return .cancel
  }

  public func finished(_ end: FreedomIDEnd) async {
    switch end {
    case .authorized: show("authorized")
    case .failed(let message): show(message)
    }
    await dialog.settle()
  }

  private func fill(_ screen: FreedomIDScreen.Form) async -> FreedomIDAnswer {
    var values: [String: String] = [:]
    for field in screen.fields {
      guard let value = await ask(field.name, isHidden: field.kind == .password) else {
        return .cancel
      }
      values[field.name] = value
    }
    return screen.fill(values)
  }

  private func answer(_ screen: FreedomIDScreen.Fingerprint) async -> FreedomIDAnswer {
    guard screen.isScanning else { return screen.scan() }
    let touch = "\(screen.reason): touch the fingerprint reader"
    guard screen.takesPasscode else {
      show(touch)
      return .stay
    }
    let line = await ask("\(touch), or passcode", isHidden: true)
    return line.map { $0.isEmpty ? .stay : screen.enter(passcode: $0) } ?? .cancel
  }

  private func answer(_ screen: FreedomIDScreen.Permissions) async -> FreedomIDAnswer {
    let labels = screen.permissions.map(\.label).joined(separator: ", ")
    while let line = await ask("\(screen.client) asks for \(labels): yes or no") {
      switch line.lowercased() {
      case "yes", "y": return screen.grantAll()
      case "no", "n": return screen.deny()
      default: continue
      }
    }
    return .cancel
  }
}
