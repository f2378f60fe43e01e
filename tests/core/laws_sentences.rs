//! The Laws sentence by sentence: one line a case, with the article that is meant.
//!
//! `EDITION CONTROL SUPERVISION IRREGULARITY OFFENDER NUMBER MOVES [fact=value ...] => PENALTY POSITION ARTICLES`
//! where SUPERVISION is `+` (adequate) or `-` (not), MOVES is `white+black`, and `~fact` means false.

use dgt2mqtt::laws::{Case, Options, decide};
use serde_json::{Value, json};

fn case(words: &[&str]) -> Case {
    let [
        edition,
        control,
        supervision,
        irregularity,
        offender,
        number,
        moves,
        facts @ ..,
    ] = words
    else {
        panic!("a case has seven words at least: {words:?}");
    };
    let (white, black) = moves.split_once('+').expect("moves as 10+9");
    let count = |s: &str| s.parse::<u32>().expect("a number");
    let mut value = json!({
        "edition": edition, "time_control": control,
        "supervision": if *supervision == "+" { "adequate" } else { "not_adequate" },
        "facts": {
            "irregularity": irregularity,
            "offender": if *offender == "nobody" { Value::Null } else { (*offender).into() },
            "offence_number": count(number),
            "opponent_has_replied": false,
            "moves_completed": { "white": count(white), "black": count(black) },
            "opponent_can_mate": true,
            "last_legal_position_known": true,
        }
    });
    for fact in facts {
        let (name, given) = match fact.split_once('=') {
            Some((name, "true")) => (name, true.into()),
            Some((name, "false")) => (name, false.into()),
            Some(("concurrent", list)) => ("concurrent", list.split(',').collect::<Vec<_>>().into()),
            Some((name, word)) => (name, word.into()),
            None => (fact.trim_start_matches('~'), (!fact.starts_with('~')).into()),
        };
        value["facts"][name] = given;
    }
    Case::from_json(&value).unwrap_or_else(|e| panic!("{words:?}: {e}"))
}

fn check_with(options: &Options, table: &str) {
    let mut wrong = Vec::new();
    for line in table
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        let (given, expected) = line.split_once("=>").expect("=> parts case and ruling");
        let ruling = decide(&case(&given.split_whitespace().collect::<Vec<_>>()), options);
        let told = serde_json::to_value(&ruling).expect("plain data");
        let penalty = &told["penalty"];
        let mut got = penalty["kind"].as_str().unwrap_or_default().to_owned();
        if penalty["seconds"] != 0 {
            got += &format!(":{}", penalty["seconds"]);
        }
        if let Some(to) = penalty["to"].as_str() {
            got += &format!(":{to}");
        }
        let got = format!("{got} {}", told["position"].as_str().unwrap_or_default());
        let mut expected = expected.split_whitespace();
        let outcome = expected.by_ref().take(2).collect::<Vec<_>>().join(" ");
        if got != outcome {
            wrong.push(format!("{line}\n    got {got}"));
        }
        let missing: Vec<_> = expected
            .filter(|a| !ruling.articles.iter().any(|b| b == a))
            .collect();
        if !missing.is_empty() {
            wrong.push(format!("{line}\n    cites {:?}", ruling.articles));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(table: &str) {
    check_with(&Options::default(), table);
}

#[test]
fn the_game_is_over_or_this_move_ended_it() {
    check(
        "2023 standard + illegal_move         white 1 20+19 game_over      => none stands 7.5.1
         2023 rapid    - illegal_move         white 2 20+19 game_over      => none stands A.5.2
         2018 standard + colours_reversed     nobody 0 5+5  game_over      => none stands 7.3
         2018 standard + flag_fall            black 0 40+39 game_over      => none stands 6.8 6.9
         2014 standard + initial_position_wrong nobody 0 5+5 game_over     => none stands 7.2
         2023 blitz    + two_hands            white 1 20+19 move_ends_game => none stands 5.1.1 6.2.1
         2018 standard + flag_fall            black 0 40+39 move_ends_game => none stands 5.1.1
         2014 standard + two_hands            white 1 20+19 move_ends_game => none stands 5.1.a
         1997-fritz blitz + two_hands         white 0 20+19 move_ends_game => none stands 5.1
         2023 standard + seventy_five         nobody 0 90+90 move_ends_game => none stands 9.6.2 5.1.1
         2023 standard + press_without_move   white 1 20+19 game_over move_ends_game => none stands 7.5.3",
    );
}

#[test]
fn what_is_not_pressed_is_not_completed() {
    check(
        "2023 standard + illegal_move           white 0 20+19 ~clock_pressed => none reinstate_before 7.5.1
         2014 standard + illegal_move           white 0 20+19 ~clock_pressed => none reinstate_before 7.5.a
         1997-fritz standard + illegal_move     white 0 20+19 ~clock_pressed => none reinstate_before 7.4
         2018 rapid    - illegal_move           white 0 20+19 ~clock_pressed => none reinstate_before A.4.2
         2023 standard + promotion_not_replaced white 0 20+19 ~clock_pressed => none continue 7.5.2
         2023 standard + two_hands              white 0 20+19 ~clock_pressed => none continue 7.5.4
         2023 standard + castling_incomplete    white 0 20+19 ~clock_pressed => none continue 4.7.2
         2023 standard + wrong_colour_promotion white 0 20+19 ~clock_pressed => none continue 3.7",
    );
}

#[test]
fn the_matrix_of_1997() {
    check(
        "1997-fritz standard + illegal_move white 1 20+19                        => none reinstate_before 7.4 6.13
         1997-fritz standard + illegal_move white 3 20+20 opponent_has_replied   => none reinstate_before 7.4 6.13
         1997-fritz rapid    - illegal_move white 2 20+20 opponent_has_replied   => none reinstate_before 7.4 6.13
         1997-fritz standard + illegal_move white 1 20+19 ~last_legal_position_known => none last_identifiable 7.4
         1997-fritz blitz    + illegal_move white 1 20+19 raised_by=opponent     => loss:black reinstate_before C3
         1997-fritz blitz    - illegal_move white 1 20+19 raised_by=arbiter      => none stands C3
         1997-fritz blitz    - illegal_move white 1 20+19 raised_by=nobody       => none stands C3
         1997-fritz blitz    + illegal_move white 1 20+20 raised_by=opponent opponent_has_replied => none stands C3
         1997-fritz blitz    + illegal_move white 1 20+20 raised_by=opponent opponent_has_replied players_agree => none reinstate_before C3
         1997-fritz blitz    - illegal_move white 1 20+19 raised_by=opponent ~opponent_can_mate => draw reinstate_before C3 C4
         1997-fritz standard + two_hands    white 0 20+19                        => arbiter continue 13.4
         1997-fritz blitz    + press_without_move white 0 20+19                  => arbiter continue 13.4",
    );
}

#[test]
fn the_matrix_of_2014() {
    check(
        "2014 standard + illegal_move           white 1 20+19 => time:120:black reinstate_before 7.5.a 7.5.b
         2014 standard + illegal_move           white 2 20+19 => loss:black reinstate_before 7.5.b
         2014 standard - promotion_not_replaced black 1 20+19 => time:120:white replace_with_queen 7.5.a
         2014 rapid    + illegal_move           white 1 20+20 opponent_has_replied => time:120:black reinstate_before A.3
         2014 rapid    - illegal_move           white 1 20+19 => loss:black reinstate_before A.4.b
         2014 rapid    - illegal_move           white 1 20+19 ~opponent_can_mate => draw reinstate_before A.4.b
         2014 rapid    - illegal_move           white 1 20+20 opponent_has_replied => none stands A.4.b
         2014 rapid    - promotion_not_replaced white 1 20+19 => loss:black replace_with_queen A.4.b
         2014 blitz    + illegal_move           white 1 20+19 => time:60:black reinstate_before B.2 B.3
         2014 blitz    + illegal_move           white 2 20+19 => loss:black reinstate_before B.2
         2014 blitz    - illegal_move           white 1 20+19 raised_by=nobody => none stands
         2014 blitz    - illegal_move           white 1 20+19 raised_by=opponent => loss:black reinstate_before B.2
         2014 standard + press_without_move     white 0 20+19 => arbiter continue 12.9
         2014 rapid    - two_hands              white 0 20+19 => arbiter continue 4.1 12.9",
    );
}

#[test]
fn the_matrix_of_the_2017_proposal() {
    check(
        "2017-rc-proposal standard + two_hands          white 1 20+19 => time:120:black reinstate_before 7.5.4 7.5.5
         2017-rc-proposal rapid    + press_without_move white 1 20+19 => time:120:black reinstate_before 7.5.3 A.3
         2017-rc-proposal rapid    - press_without_move white 1 20+19 => loss:black reinstate_before A.4.2.1
         2017-rc-proposal blitz    - illegal_move       white 1 20+19 => loss:black reinstate_before A.4.2.1
         2017-rc-proposal blitz    - illegal_move       white 1 20+20 opponent_has_replied => none stands A.4.2.1
         2017-rc-proposal blitz    + illegal_move       white 1 20+19 => time:60:black reinstate_before B.2 B.3
         2017-rc-proposal rapid    - two_hands          white 1 20+19 => time:120:black reinstate_before 7.5.4",
    );
}

#[test]
fn the_matrix_of_2018() {
    check(
        "2018 standard + illegal_move       white 1 20+19 => time:120:black reinstate_before 7.5.1 7.5.5 7.1
         2018 standard - two_hands          white 2 20+19 => loss:black reinstate_before 7.5.4
         2018 standard + press_without_move black 3 20+19 => loss:white reinstate_before 7.5.3
         2018 rapid    + illegal_move       white 1 20+20 opponent_has_replied => time:120:black reinstate_before A.3
         2018 rapid    + illegal_move       white 1 20+20 raised_by=nobody => time:120:black reinstate_before A.3
         2018 rapid    - illegal_move       white 1 20+19 => time:120:black reinstate_before A.4.2
         2018 rapid    - illegal_move       white 1 20+20 opponent_has_replied => none stands A.4.2
         2018 rapid    - illegal_move       white 1 20+20 opponent_has_replied players_agree => none reinstate_before A.4.2
         2018 rapid    - illegal_move       white 2 20+19 ~opponent_can_mate => draw reinstate_before A.4.2
         2018 blitz    + promotion_not_replaced white 1 20+19 => time:60:black replace_with_queen B.3 B.2
         2018 blitz    - two_hands          white 1 20+19 => time:60:black reinstate_before A.4.2 B.4 B.2",
    );
}

#[test]
fn the_matrix_of_2023() {
    check(
        "2023 standard + illegal_move           white 1 20+19 => time:120:black reinstate_before 7.5.1 7.5.5 7.1
         2023 standard + illegal_move           white 2 20+19 ~opponent_can_mate => draw reinstate_before 7.5.5
         2023 standard + promotion_not_replaced white 2 20+19 => loss:black replace_with_queen 7.5.2 7.5.5
         2023 standard + illegal_move           white 1 20+19 ~last_legal_position_known => time:120:black last_identifiable 7.1
         2023 rapid    + illegal_move           white 1 20+20 opponent_has_replied => time:60:black reinstate_before A.4 A.3
         2023 rapid    - illegal_move           white 1 20+19 raised_by=opponent => time:60:black reinstate_before A.5.2 A.3
         2023 rapid    - illegal_move           white 1 20+19 raised_by=nobody => none stands A.5.2
         2023 blitz    + illegal_move           white 1 20+19 => time:60:black reinstate_before B.2
         2023 blitz    - press_without_move     white 1 20+19 => time:60:black reinstate_before B.3 A.3
         2023 blitz    - illegal_move           white 3 20+19 => loss:black reinstate_before B.3",
    );
}

#[test]
fn several_acts_in_one_move_count_once() {
    check(
        "2023 standard + two_hands    white 1 20+19 concurrent=promotion_not_replaced => time:120:black replace_with_queen 7.5.2 7.5.4
         2023 standard + illegal_move white 1 20+19 concurrent=promotion_not_replaced,two_hands => time:120:black replace_with_queen 7.5.1 7.5.2
         2023 standard + illegal_move white 1 20+19 concurrent=moved_out_of_turn => arbiter reinstate_before 12.9
         2023 rapid    - illegal_move white 2 20+19 concurrent=moved_out_of_turn => arbiter reinstate_before 12.9
         2023 standard + castling_incomplete white 1 20+19 concurrent=illegal_move => time:120:black reinstate_before 7.5.1
         2023 standard + touch_move   white 1 20+19 concurrent=illegal_move => time:120:black reinstate_before 7.5.1
         2023 standard + pieces_displaced white 1 20+19 concurrent=illegal_move => time:120:black reinstate_before 7.5.1
         2023 standard + pieces_displaced white 0 20+19 concurrent=touch_move => arbiter reinstate_before 7.4.1
         1997-fritz standard + illegal_move white 1 20+19 concurrent=promotion_not_replaced => none reinstate_before 7.4
         2014 rapid + press_without_move white 1 20+19 => arbiter continue 12.9 A.3
         2014 blitz + two_hands white 1 20+19 => arbiter continue 12.9 4.1 B.2 B.3
         2014 standard + two_hands    white 1 20+19 concurrent=illegal_move => time:120:black reinstate_before 7.5.a
         2023 standard + flag_fall    white 0 60+60 concurrent=dead_position => draw stands 5.2.2
         2023 standard + flag_fall    white 0 99+99 concurrent=seventy_five => draw stands 9.6.2
         1997-fritz standard + flag_fall white 0 99+99 concurrent=seventy_five => loss:black stands 6.9",
    );
}

#[test]
fn a_press_that_answers_something() {
    check(
        "2023 standard + press_without_move white 0 20+20 response_to=own_unpressed_move        => none continue 6.2.2
         2014 standard + press_without_move white 0 20+20 response_to=own_unpressed_move        => none continue 12.9
         1997-fritz rapid + press_without_move white 0 20+20 response_to=own_unpressed_move     => none continue
         2023 standard + press_without_move white 1 20+20 response_to=opponent_illegal_move     => arbiter reinstate_before 7.5.3
         2014 standard + press_without_move white 1 20+20 response_to=opponent_illegal_move     => arbiter reinstate_before 12.9
         1997-fritz standard + press_without_move white 0 20+20 response_to=opponent_displaced_pieces => none continue 7.3
         2014 standard + press_without_move white 0 20+20 response_to=opponent_displaced_pieces => arbiter continue 12.9
         2018 standard + press_without_move white 0 20+20 response_to=opponent_displaced_pieces => arbiter continue 7.5.3",
    );
}

#[test]
fn set_up_colours_and_clock_before_and_after_the_bar() {
    check(
        "2023 standard + initial_position_wrong nobody 0 60+60 => none new_game 7.2.1
         2023 rapid    + initial_position_wrong nobody 0 60+60 => none new_game 7.2.1
         2023 rapid    - initial_position_wrong nobody 0 10+9  => none new_game 7.2.1
         2023 rapid    - initial_position_wrong nobody 0 10+10 => none continue A.5.1.2
         2014 blitz    - board_orientation_wrong nobody 0 10+10 => none continue A.4.a
         2018 blitz    - board_orientation_wrong nobody 0 9+9  => none transfer 7.2.2
         1997-fritz standard - initial_position_wrong nobody 0 40+40 => none new_game 7.1
         1997-fritz blitz + initial_position_wrong nobody 0 3+3 => none continue B4
         1997-fritz rapid + board_orientation_wrong nobody 0 3+2 => none transfer 7.1 B4
         1997-fritz standard + colours_reversed nobody 0 1+1  => none continue 7.2
         2014 standard + colours_reversed nobody 0 1+1   => none continue 7.3
         2017-rc-proposal standard + colours_reversed nobody 0 10+9 => none new_game 7.3
         2023 blitz    - colours_reversed nobody 0 10+10 => none continue 7.3
         2023 standard + clock_setting_wrong nobody 0 30+30 => arbiter continue 6.10.2
         2023 rapid    - clock_setting_wrong nobody 0 10+10 => none continue A.5.1.1
         2018 rapid    - clock_setting_wrong nobody 0 10+10 => none continue A.4.1.1
         1997-fritz rapid - clock_setting_wrong nobody 0 10+10 => arbiter continue 13.4",
    );
}

#[test]
fn displaced_pieces_and_promotion_oddities() {
    check(
        "1997-fritz standard + pieces_displaced white 0 20+19 => none reinstate_before 7.3
         2014 standard + pieces_displaced white 0 20+19 => arbiter reinstate_before 7.4
         2023 blitz    - pieces_displaced white 0 20+19 => arbiter reinstate_before 7.4.1 7.4.2 7.4.3
         1997-fritz standard + displaced_piece_found nobody 0 20+19 => none reinstate_before 7.4
         2014 standard + displaced_piece_found nobody 0 20+19 => none reinstate_before 7.6
         2018 standard + displaced_piece_found nobody 0 20+19 ~last_legal_position_known => none last_identifiable 7.6
         2023 standard + inverted_rook_promotion white 0 20+19 => none continue 4.4.4
         2023 standard + wrong_colour_promotion white 0 20+19 => arbiter replace_with_queen 3.7 3.7.3.3
         2018 standard + wrong_colour_promotion white 0 20+19 => arbiter replace_with_queen 3.7
         2018 standard + castling_incomplete white 0 20+19 => arbiter reinstate_before 4.7.2 7.5.1",
    );
}

#[test]
fn article_four_turn_order_and_the_hand() {
    check(
        "2023 standard + touch_move white 0 20+19 => none reinstate_before 4.3
         2023 standard + touch_move white 0 20+19 opponent_touched_piece => none continue 4.8
         1997-fritz standard + touch_move white 0 20+19 => none reinstate_before 4.3
         1997-fritz rapid + touch_move white 0 20+19 => none continue B5
         1997-fritz rapid + touch_move white 0 20+19 raised_by=opponent => none reinstate_before 4.3
         1997-fritz blitz + touch_move white 0 20+20 raised_by=opponent opponent_touched_piece => none continue 4.3
         2014 standard + rook_first_castling white 0 20+19 => none reinstate_before 4.4
         2023 standard + rook_first_castling white 0 20+19 => none reinstate_before 4.4.2 4.3.1
         2023 standard + rook_first_castling white 0 20+20 opponent_has_replied => none continue 4.8
         1997-fritz standard + moved_out_of_turn white 0 20+19 => arbiter reinstate_before 13.4
         2014 blitz - moved_out_of_turn white 0 20+19 => arbiter reinstate_before 12.9
         2023 standard + press_with_other_hand white 0 20+19 => arbiter continue 6.2.3 12.9
         2023 standard + pause_without_reason white 0 20+19 => arbiter continue 6.11.4 12.9
         2014 standard + pause_without_reason white 0 20+19 => arbiter continue 12.9
         1997-fritz standard + claim_from_screen white 0 20+19 => none continue 6.14
         2018 standard + claim_from_screen white 0 20+19 => none continue 6.12.2",
    );
}

#[test]
fn what_an_arbiter_sees_beside_the_board() {
    check(
        "1997-fritz standard + late_arrival white 0 0+0 => arbiter continue 6.6
         2014 standard + late_arrival white 0 0+0 => arbiter continue 6.7
         2023 rapid    - late_arrival black 0 0+0 => arbiter continue 6.7
         1997-fritz standard + electronic_device white 0 20+19 => arbiter continue 13.4
         2014 standard + electronic_device white 0 20+19 => loss:black stands 11.3.b
         2018 blitz    - electronic_device black 0 20+19 => loss:white stands 11.3.2
         2023 standard + electronic_device white 0 20+19 ~opponent_can_mate => loss:black stands 11.3.2
         2023 standard + electronic_device nobody 0 20+19 => arbiter stands 11.3.2
         2023 standard + electronic_device white 0 20+19 game_over => none stands 11.3.2
         1997-fritz standard + not_recording white 0 20+19 => arbiter continue 13.4
         1997-fritz blitz    + not_recording white 0 20+19 => none continue B3
         2014 standard + not_recording white 0 20+19 => arbiter continue 8.1 12.9
         2014 rapid    + not_recording white 0 20+19 => none continue A.2
         2014 blitz    - not_recording white 0 20+19 => arbiter continue 8.1 12.9
         2018 blitz    - not_recording white 0 20+19 => none continue A.2
         2023 rapid    + not_recording white 0 20+19 => none continue A.2
         2023 blitz    + not_recording white 0 20+19 => arbiter continue 8.1 12.9
         2023 blitz    - not_recording white 0 20+19 => none continue A.2
         1997-fritz standard + disturbing white 0 20+19 => arbiter continue 12.5 13.4
         2014 standard + disturbing white 0 20+19 => arbiter continue 11.5 12.9
         2023 blitz    - disturbing white 0 20+19 => arbiter continue 11.5 12.9
         1997-fritz standard + draw_offer_irregular white 0 20+19 => arbiter continue 13.4
         2014 standard + draw_offer_irregular white 0 20+19 => arbiter continue 9.1 12.9
         2018 standard + draw_offer_irregular white 0 20+19 => arbiter continue 9.1.2 11.5 12.9
         1997-fritz standard + other nobody 0 20+19 => arbiter continue 13.4
         2023 standard + other white 0 20+19 => arbiter continue 12.9",
    );
}

#[test]
fn flags() {
    check(
        "2023 standard + flag_fall white 0 40+39 => loss:black stands 6.9
         2023 standard + flag_fall white 0 40+39 ~opponent_can_mate => draw stands 6.9
         2023 standard + flag_fall white 0 40+39 prescribed_moves_done => none continue 6.4
         1997-fritz standard + flag_fall white 0 40+39 prescribed_moves_done => none continue 6.3
         2023 standard + flag_fall white 0 40+39 raised_by=nobody => none continue 6.8
         2023 rapid - flag_fall white 0 40+39 => loss:black stands 6.9 A.5.3 A.5.5
         2018 blitz - flag_fall white 0 40+39 raised_by=opponent => loss:black stands 6.9 A.4.3
         1997-fritz rapid + flag_fall white 0 40+39 => none continue B6
         1997-fritz blitz + flag_fall white 0 40+39 raised_by=opponent => loss:black stands 6.9
         1997-fritz standard + flag_fall white 0 40+39 => loss:black stands 6.9
         1997-fritz standard + both_flags nobody 0 40+40 last_period => none continue 6.11
         1997-fritz rapid + both_flags nobody 0 40+40 => draw stands B8
         2018 standard + both_flags nobody 0 40+40 ~last_period => none continue III.3.1.1
         2023 rapid + both_flags nobody 0 60+60 last_period => draw stands III.3.1.2
         2023 standard + both_flags nobody 0 60+60 last_period first_flag=black => loss:white stands 6.9
         2023 rapid - both_flags nobody 0 60+60 first_flag=white => loss:black stands 6.9 A.5.3
         2023 standard + both_flags nobody 0 60+60 first_flag=white ~opponent_can_mate => draw stands 6.9",
    );
}

#[test]
fn draws_on_the_board_and_claims() {
    check(
        "1997-fritz standard + dead_position nobody 0 60+60 => draw stands 5.2 9.6
         2014 blitz - dead_position nobody 0 60+60 => draw stands 5.2
         2023 standard + dead_position nobody 0 60+60 concurrent=flag_fall move_ends_game => draw stands 5.2.2
         2023 standard + threefold_claim white 0 40+39 claim_correct => draw stands 9.2
         2023 standard + threefold_claim white 0 40+39 => none continue 9.2
         2023 standard + threefold_claim white 0 40+39 ~claim_correct => time:120:black continue 9.5.3
         2023 rapid + fifty_claim black 0 40+39 ~claim_correct => time:60:white continue 9.5.3 A.3
         2023 blitz - fifty_claim black 0 40+39 ~claim_correct => time:60:white continue 9.5.3 A.3
         2018 rapid - fifty_claim black 0 40+39 ~claim_correct => time:120:white continue 9.5.3
         2018 blitz + threefold_claim black 0 40+39 ~claim_correct => time:60:white continue 9.5.3 B.2
         2014 blitz + threefold_claim black 0 40+39 ~claim_correct => time:60:white continue 9.5 B.2
         2014 standard + fifty_claim black 0 99+99 ~claim_correct => time:120:white continue 9.5
         2014 standard + fivefold nobody 0 60+60 consecutive => draw stands 9.6
         2014 standard + fivefold nobody 0 60+60 => none continue 9.6
         2018 standard + fivefold nobody 0 60+60 => draw stands 9.6.1
         1997-fritz standard + fivefold nobody 0 60+60 consecutive => none continue
         1997-fritz standard + seventy_five nobody 0 99+99 => none continue 9.3
         2014 standard + seventy_five nobody 0 99+99 => draw stands 9.6",
    );
}

#[test]
fn an_impossible_position_is_come_upon() {
    check(
        "2018 rapid - illegal_position_observed nobody 0 40+39 observed=both_kings_in_check => none continue A.4.4
         2023 blitz - illegal_position_observed nobody 0 40+39 observed=pawn_on_last_rank next_move_completed => none continue A.5.4
         2014 blitz - illegal_position_observed nobody 0 40+39 next_move_completed illegal_position_persists => draw stands A.4.d
         2023 rapid + illegal_position_observed white 1 40+39 observed=both_kings_in_check => time:60:black reinstate_before 7.5.1 A.4
         2018 standard - illegal_position_observed white 1 40+39 next_move_completed illegal_position_persists => time:120:black reinstate_before 7.5.1
         2014 standard + illegal_position_observed white 2 40+39 => loss:black reinstate_before 7.5.a",
    );
}

#[test]
fn contested_points_follow_their_options() {
    let other: Options = serde_json::from_value(json!({
        "blitz_2023_supervised": "letter",
        "two_hands_position": "continue",
        "wrong_colour_promotion": "illegal_move",
        "castling_incomplete": "illegal_move",
        "proposal_2017_two_hands": "loss",
        "both_flags_unsupervised": "guidelines",
        "wrong_claim_1997": 120,
        "blitz_2023_unsupervised": "translation",
        "both_flags_2014": "arbiter",
        "article_7_unsupervised": "arbiter",
        "pawn_after_reply": "replaced",
        "blitz_1997_without_mate": "no_penalty"
    }))
    .expect("options by name");
    check_with(
        &other,
        "2023 blitz + illegal_move white 1 20+19 => time:120:black reinstate_before B.2
         2023 blitz - illegal_move white 1 20+19 => time:120:black reinstate_before B.3
         2023 rapid - illegal_move white 1 20+19 => time:60:black reinstate_before A.5.2 A.3
         2023 blitz + fifty_claim  white 0 20+19 ~claim_correct => time:120:black continue 9.5.3
         2023 blitz - fifty_claim  white 0 20+19 ~claim_correct => time:120:black continue 9.5.3
         2018 blitz - illegal_move white 1 20+19 => time:60:black reinstate_before B.4
         2014 standard + both_flags nobody 0 60+60 => arbiter stands III.3.1
         2018 standard + both_flags nobody 0 60+60 ~last_period => none continue III.3.1.1
         2023 rapid - initial_position_wrong nobody 0 5+5 => arbiter continue 7.2.1
         2023 rapid - displaced_piece_found nobody 0 20+19 => arbiter continue 7.6
         2023 rapid + displaced_piece_found nobody 0 20+19 => none reinstate_before 7.6
         2023 rapid - touch_move white 0 20+19 => none reinstate_before 4.3
         2023 rapid - promotion_not_replaced white 1 20+20 opponent_has_replied => time:60:black replace_with_queen 7.5.2 A.5.2
         2023 rapid - illegal_move white 1 20+20 opponent_has_replied => none stands A.5.2
         1997-fritz blitz + illegal_move white 1 20+19 raised_by=opponent ~opponent_can_mate => none reinstate_before C3 C4
         1997-fritz blitz + illegal_move white 1 20+19 raised_by=opponent => loss:black reinstate_before C3
         2023 standard + two_hands white 1 20+19 => time:120:black continue 7.5.4
         2023 standard + wrong_colour_promotion white 1 20+19 => time:120:black replace_with_queen 7.5.2
         2023 standard + castling_incomplete white 1 20+19 => time:120:black reinstate_before 7.5.1
         2017-rc-proposal rapid - two_hands white 1 20+19 => loss:black continue 7.5.4
         2023 rapid - both_flags nobody 0 20+19 last_period => draw stands III.3.1.2
         1997-fritz standard + fifty_claim white 0 20+19 ~claim_correct => time:120:black continue 9.5",
    );
}

#[test]
fn facts_for_information_change_nothing() {
    let plain = "2023 standard + illegal_move white 1 20+19"
        .split_whitespace()
        .collect::<Vec<_>>();
    let informed = "2023 standard + illegal_move white 1 20+19 promoted_as=queen illegal_kind=castling claimed_mate=Qh7 prior_irregularity_stands"
        .split_whitespace()
        .collect::<Vec<_>>();
    let options = Options::default();
    assert_eq!(
        decide(&case(&plain), &options),
        decide(&case(&informed), &options)
    );
}
